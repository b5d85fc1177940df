// A report as JSON, for programs.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <ostream>
#include <sstream>

#include "audit/json_text.hpp"
#include "cli/audit_report.hpp"
#include "cli/json_string.hpp"

namespace warder {
namespace {

using boost::json::array;
using boost::json::object;

array strings(const std::vector<std::string>& texts) {
  array out;
  for (const std::string& text : texts) out.emplace_back(json_string(text));
  return out;
}

object events(const EventList& list, std::initializer_list<const char*> names) {
  array out;
  for (const Event& event : list.events) {
    object one{{"file", json_string(event.file)},
               {"sequence", event.seq},
               {"time", json_string(event.time)},
               {"session", json_string(event.session)}};
    std::size_t i = 0;
    for (const char* name : names) {
      if (i < event.words.size()) one[name] = json_string(event.words[i]);
      ++i;
    }
    out.emplace_back(std::move(one));
  }
  return {{"events", std::move(out)}, {"more", list.more}};
}

// [{names…, "count": N}] of a map by tuples.
template <class Key>
array counts(const Rows<Key, std::uint64_t>& map, std::initializer_list<const char*> names) {
  array out;
  for (const auto& [key, count] : map) {
    object one;
    auto name = names.begin();
    std::apply([&](const auto&... part) { ((one[*name++] = json_string(part)), ...); }, key);
    one["count"] = count;
    out.emplace_back(std::move(one));
  }
  return out;
}

array counts(const Rows<std::string, std::uint64_t>& map, const char* name) {
  array out;
  for (const auto& [key, count] : map)
    out.emplace_back(object{{name, json_string(key)}, {"count", count}});
  return out;
}

array sessions(const AuditReport& report) {
  array out;
  for (const auto& [id, story] : report.sessions) {
    out.emplace_back(object{{"session", json_string(id)},
                            {"started", json_string(story.started)},
                            {"ended", json_string(story.ended)},
                            {"how", json_string(story.how)},
                            {"exit_code", story.exit_code},
                            {"user", json_string(story.user)},
                            {"uid", json_string(story.uid)},
                            {"host", json_string(story.host)},
                            {"cwd", json_string(story.cwd)},
                            {"command", strings(story.command)},
                            {"policy", json_string(story.policy)},
                            {"policy_sha256", json_string(story.policy_sha256)},
                            {"mode", json_string(story.mode)},
                            {"secrets", strings(story.secrets)},
                            {"exchanges", story.exchanges},
                            {"refused", story.refused}});
  }
  return out;
}

array hosts(const AuditReport& report) {
  array out;
  for (const auto& [host, story] : report.hosts) {
    out.emplace_back(object{{"host", json_string(host)},
                            {"allowed", story.allowed},
                            {"observed", story.observed},
                            {"refused", story.refused},
                            {"failed", story.failed},
                            {"bytes_up", story.bytes_up},
                            {"bytes_down", story.bytes_down}});
  }
  return out;
}

}  // namespace

void print_json(const AuditReport& report, std::ostream& out) {
  std::ostringstream verification;
  audit::report(report.verification, audit::ReportForm::json, verification);
  const object rest{{"changed_after_verification", strings(report.changed)},
                    {"scope", json_string(report.scope)},
                    {"records", report.records},
                    {"not_records", report.not_records},
                    {"sessions", sessions(report)},
                    {"hosts", hosts(report)},
                    {"secrets", counts(report.secrets, {"secret", "host", "place"})},
                    {"masked", counts(report.masked, {"secret", "place"})},
                    {"refusals", counts(report.refusals, {"reason", "where"})},
                    {"tripwires", events(report.tripwires, {"reason", "method", "where", "rule"})},
                    {"approvals", events(report.approvals,
                                         {"decision", "scope", "method", "where", "user", "how"})},
                    {"changes", events(report.changes, {"what", "change", "by", "detail"})},
                    {"programs", counts(report.programs, "program")},
                    {"files", counts(report.files, {"change", "file"})},
                    {"limits", events(report.limits, {"limit", "value", "state", "used"})},
                    {"other_types", counts(report.other_types, "type")}};
  out << R"({"report":1,"verdict":")"
      << (report.verdict == 0   ? "intact"
          : report.verdict == 1 ? "broken"
                                : "unreadable")
      << R"(","verification":)" << verification.str() << ','
      << audit::harmless(boost::json::serialize(rest)).substr(1) << "\n";
}

}  // namespace warder
