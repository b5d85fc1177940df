// The demo's report for a program.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "audit/json_text.hpp"
#include "cli/demo_page.hpp"

namespace warder {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxText = 64 * 1024;

// JSON is UTF-8, what a program prints is any bytes.
json::string valid(const std::string& text) {
  std::string quoted = "\"";
  audit::append_escaped(quoted, text, kMaxText);
  return json::parse(quoted + '"').as_string();
}

json::object to_object(const DemoStep& step) {
  json::array checks;
  for (const DemoCheck& check : step.checks)
    checks.push_back({{"claim", check.claim}, {"held", check.held}});
  return {{"name", step.name},
          {"title", step.title},
          {"sandbox", {{"command", step.command}, {"output", valid(step.output)}}},
          {"origin", valid(step.origin)},
          {"checks", std::move(checks)},
          {"ok", step.ok()}};
}

json::object to_object(const Denial& denial) {
  return {{"what", valid(denial.what)},
          {"reason", to_string(denial.reason)},
          {"count", denial.count},
          {"allow_with", valid(denial.suggestion)}};
}

std::string_view word(audit::Verification::Outcome outcome) {
  switch (outcome) {
    case audit::Verification::Outcome::intact: return "intact";
    case audit::Verification::Outcome::broken: return "broken";
    case audit::Verification::Outcome::unreadable: break;
  }
  return "unreadable";
}

}  // namespace

std::string demo_json(const DemoReport& report) {
  json::array steps;
  for (const DemoStep& step : report.steps) steps.push_back(to_object(step));
  json::array refused;
  for (const Denial& denial : report.outcome.denials) refused.push_back(to_object(denial));
  const json::object document{{"ok", report.ok()},
                              {"steps", std::move(steps)},
                              {"refused", std::move(refused)},
                              {"audit",
                               {{"file", valid(report.outcome.audit_file.string())},
                                {"outcome", word(report.audit.outcome)},
                                {"records", report.audit.records},
                                {"checkpoints", report.audit.checkpoints},
                                {"covered", report.audit.covered},
                                {"root", report.audit.root},
                                {"detail", report.audit.detail}}}};
  return json::serialize(document) + "\n";
}

}  // namespace warder
