#include "cli/ocsf.hpp"

#include <array>
#include <boost/json/array.hpp>
#include <charconv>
#include <ctime>
#include <optional>

#include "base/encoding.hpp"
#include "base/reason.hpp"
#include "cli/record_fields.hpp"

namespace warder {
namespace {

using boost::json::array;
using boost::json::object;

constexpr unsigned kOther = 99;
constexpr std::size_t kMostOpen = 65'536;
constexpr unsigned kInformational = 1;
constexpr unsigned kMedium = 3;
constexpr unsigned kHigh = 4;

std::int64_t milliseconds_of(const std::string& time) {
  std::tm parts{};
  const char* rest = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return 0;
  int milliseconds = 0;
  if (*rest == '.')
    std::from_chars(rest + 1, std::min(rest + 4, time.c_str() + time.size()), milliseconds);
  return static_cast<std::int64_t>(::timegm(&parts)) * 1000 + milliseconds;
}

unsigned activity_of_method(std::string_view method) {
  constexpr std::array<std::string_view, 9> kMethods{
      "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT", "TRACE", "PATCH"};
  for (unsigned i = 0; i < kMethods.size(); ++i)
    if (kMethods[i] == method) return i + 1;
  return kOther;
}

struct Place {
  std::string scheme, host;
  unsigned port = 0;
};

Place place_in(std::string_view authority) {
  Place place;
  const std::size_t sign = authority.find("://");
  if (sign != std::string_view::npos) {
    place.scheme = authority.substr(0, sign);
    authority.remove_prefix(sign + 3);
  }
  place.host = host_in(authority);
  place.port = place.scheme == "https" ? 443 : place.scheme == "http" ? 80 : 0;
  if (authority.size() > place.host.size() && authority[place.host.size()] == ':') {
    const auto digits = authority.substr(place.host.size() + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), place.port);
  }
  return place;
}

object endpoint_of(const Place& place) {
  object out;
  if (!place.host.empty()) out["hostname"] = place.host;
  if (place.port > 0 && place.port < 65'536) out["port"] = place.port;
  return out;
}

void say(object& event, std::string_view key, std::string text) {
  if (!text.empty()) event[key] = std::move(text);
}

object sandbox(const std::string& session) {
  object out{{"name", "sandbox"}};
  if (!session.empty()) out["uid"] = session;
  return out;
}

const ReasonInfo* info_of(std::string_view word) {
  for (unsigned i = 0; i <= static_cast<unsigned>(Reason::internal); ++i) {
    const ReasonInfo& each = info(static_cast<Reason>(i));
    if (each.word == word) return &each;
  }
  return nullptr;
}

bool is_bad(std::string_view reason) { return !reason.empty() && reason != "none"; }

void set_status(object& event, const std::string& reason) {
  event["status_id"] = is_bad(reason) ? 2 : 1;
  if (!is_bad(reason)) return;
  event["status_code"] = reason;
  const ReasonInfo* known = info_of(reason);
  if (known != nullptr) event["status_detail"] = known->phrase;
}

}  // namespace

object OcsfMapper::event(unsigned class_uid, unsigned activity, unsigned severity) const {
  const std::int64_t time = milliseconds_of(line_->stamp.time);
  object warder{{"leaf_sha256", leaf_}, {"type", line_->type}};
  say(warder, "session", line_->text("session"));
  for (const char* key : {"exchange", "intent_seq", "approval_seq", "uses", "swapped", "masked"})
    if (const auto* value = line_->members.if_contains(key)) warder[key] = *value;
  object metadata{
      {"version", kOcsfVersion},
      {"product", {{"name", "Warder"}, {"vendor_name", "Warder"}, {"version", WARDER_VERSION}}},
      {"profiles", array{"security_control"}},
      {"log_name", origin_},
      {"sequence", line_->seq},
      {"uid", leaf_},
      {"event_code", line_->type}};
  const std::string session = line_->text("session");
  if (const auto number = line_->number("exchange"))
    metadata["correlation_uid"] = session + '/' + std::to_string(*number);
  else
    say(metadata, "correlation_uid", session);
  return {{"class_uid", class_uid},          {"category_uid", class_uid / 1000},
          {"activity_id", activity},         {"type_uid", class_uid * 100 + activity},
          {"severity_id", severity},         {"time", time},
          {"metadata", std::move(metadata)}, {"unmapped", {{"warder", std::move(warder)}}}};
}

// What intents and receipts have in common: who, where to, by which rule.
object OcsfMapper::exchange(const Open& of, bool is_intent) const {
  const std::string reason = line_->text("reason");
  const std::string& decision = of.decision;
  const bool denied = decision == "deny";
  const bool is_http = !of.method.empty();
  const unsigned connection = denied ? 5 : is_intent ? 1 : is_bad(reason) ? 4 : 2;
  const unsigned severity = is_tripwire(reason) ? kHigh : is_bad(reason) ? kMedium : kInformational;
  object out =
      event(is_http ? 4002 : 4001, is_http ? activity_of_method(of.method) : connection, severity);
  if (is_http && activity_of_method(of.method) == kOther) out["activity_name"] = of.method;
  const Place place = place_in(of.authority);
  out["src_endpoint"] = sandbox(line_->text("session"));
  // A receipt whose intent was not read does not say where to.
  if (!place.host.empty()) out["dst_endpoint"] = endpoint_of(place);
  out["connection_info"] = {{"direction_id", 2}, {"protocol_num", 6}};
  out["action_id"] = denied ? 2 : decision == "observe" ? 3 : of.swaps ? 4 : 1;
  out["disposition_id"] = denied                         ? 2
                          : is_bad(reason) && !is_intent ? 27
                          : decision == "observe"        ? 17
                                                         : 1;
  if (is_tripwire(reason)) out["is_alert"] = true;
  set_status(out, reason);
  if (is_http) {
    const std::string url = of.authority + of.path;
    out["http_request"] = {{"http_method", of.method},
                           {"url",
                            {{"scheme", place.scheme},
                             {"hostname", place.host},
                             {"path", of.path},
                             {"url_string", url}}}};
  }
  return out;
}

object OcsfMapper::intent() const {
  const bool swaps = !objects_in(line_->members, "uses").empty();
  object out = exchange({line_->text("method"), line_->text("authority"), line_->text("path"),
                         line_->text("decision"), swaps},
                        true);
  const std::string rule = line_->text("rule");
  if (!rule.empty()) {
    object by{{"name", rule}};
    say(by, "uid", line_->text("where"));
    out["firewall_rule"] = std::move(by);
  }
  if (line_->text("decision") == "deny" && out.contains("http_request")) {
    const ReasonInfo* known = info_of(line_->text("reason"));
    out["http_response"] = {{"code", known != nullptr ? known->status : 403}};
  }
  return out;
}

object OcsfMapper::receipt(const Open& of) const {
  object out = exchange(of, false);
  const std::uint64_t status = line_->number("status").value_or(0);
  if (out.contains("http_request") && status > 0)
    out["http_response"] = {{"code", status},
                            {"latency", line_->number("first_byte_us").value_or(0) / 1000}};
  out["traffic"] = {{"bytes_out", line_->number("bytes_up").value_or(0)},
                    {"bytes_in", line_->number("bytes_down").value_or(0)}};
  out["duration"] = line_->number("total_us").value_or(0) / 1000;
  const std::string tls = line_->text("tls");
  if (!tls.empty()) {
    const std::size_t space = tls.find(' ');
    object legs{{"version", tls.substr(0, space)}};
    if (space != std::string::npos) legs["cipher"] = tls.substr(space + 1);
    out["tls"] = std::move(legs);
  }
  const Place upstream = place_in(line_->text("upstream"));
  if (upstream.host.empty()) return out;
  if (!out.contains("dst_endpoint")) out["dst_endpoint"] = object();
  out["dst_endpoint"].as_object()["ip"] = upstream.host;
  return out;
}

object OcsfMapper::look_up() const {
  const std::string reason = line_->text("reason");
  const std::string answer = line_->text("answer");
  object out = event(4003, 6, is_bad(reason) ? kMedium : kInformational);
  const std::string type = line_->text("qtype");
  object query{{"hostname", line_->text("name")}};
  say(query, "type", type);
  out["query"] = std::move(query);
  const bool is_code = answer == "NXDOMAIN" || answer == "SERVFAIL" || answer == "NODATA";
  out["rcode_id"] = answer == "NXDOMAIN" ? 3 : answer == "SERVFAIL" ? 2 : 0;
  if (!is_code && !answer.empty())
    out["answers"] = array{object{{"rdata", answer}, {"type", type}}};
  out["src_endpoint"] = sandbox(line_->text("session"));
  out["action_id"] = is_bad(reason) ? 2 : 1;
  out["disposition_id"] = is_bad(reason) ? 2 : 1;
  set_status(out, reason);
  const std::string rule = line_->text("rule");
  if (!rule.empty()) out["firewall_rule"] = {{"name", rule}};
  return out;
}

object OcsfMapper::dial() const {
  object out = event(4001, 1, kInformational);
  out["src_endpoint"] = sandbox(line_->text("session"));
  out["dst_endpoint"] = endpoint_of(place_in(line_->text("authority")));
  out["connection_info"] = {{"direction_id", 2}, {"protocol_num", 6}};
  out["action_id"] = 1;
  out["disposition_id"] = 1;
  return out;
}

object OcsfMapper::secret() const {
  const std::string change = line_->text("change");
  const unsigned activity = change == "rotated" ? 3 : change == "revoked" ? 4 : kOther;
  object out = event(3004, activity, change == "unavailable" ? kMedium : kInformational);
  if (activity == kOther) out["activity_name"] = change;
  out["entity"] = {{"name", line_->text("secret")},
                   {"type", "secret"},
                   {"version", std::to_string(line_->number("version").value_or(0))}};
  return out;
}

object OcsfMapper::policy() const {
  const std::string change = line_->text("change");
  const bool refused = change == "refused";
  object out = event(6003, change == "removed" ? 4 : 3, refused ? kMedium : kInformational);
  const std::string by = line_->text("by");
  out["actor"] = {{"user", {{"name", by}}}};
  out["api"] = {{"operation", "policy " + change}};
  out["src_endpoint"] = {{"name", by}};
  out["status_id"] = refused ? 2 : 1;
  say(out, "status_detail", line_->text("detail"));
  const std::string name = line_->text("policy");
  if (!name.empty())
    out["resources"] = array{
        object{{"name", name}, {"type", "policy"}, {"version", line_->text("policy_sha256")}}};
  return out;
}

object OcsfMapper::approval() const {
  const std::string decision = line_->text("decision");
  object out = event(6003, kOther, decision == "allow" ? kInformational : kMedium);
  out["activity_name"] = decision;
  const std::string how = line_->text("how");
  const std::int64_t uid = signed_in(line_->members, "uid", -1);
  if (uid < 0) {
    out["actor"] = {{"app_name", "Warder"}};
  } else {
    out["actor"] = {{"user", {{"name", line_->text("user")}, {"uid", std::to_string(uid)}}}};
  }
  out["api"] = {{"operation", "approval " + decision}};
  out["src_endpoint"] = {{"name", how.empty() ? "nobody" : how}};
  out["dst_endpoint"] = endpoint_of(place_in(line_->text("authority")));
  out["status_id"] = decision == "allow" ? 1 : 2;
  out["resources"] = array{object{{"name", line_->text("authority") + line_->text("path")},
                                  {"type", "request"},
                                  {"uid", line_->text("id")}}};
  return out;
}

object OcsfMapper::lifecycle() const {
  const std::string& type = line_->type;
  const bool starts = type == "log" || type == "resume" || type == "session_start";
  const bool stops = type == "close" || type == "session_end";
  const unsigned activity = starts ? 3 : stops ? 4 : kOther;
  object out = event(6002, activity, stops || starts ? kInformational : kHigh);
  if (activity == kOther) out["activity_name"] = type;
  const bool is_session = type.starts_with("session");
  object app{{"name", is_session ? "sandbox" : "Warder audit log"}, {"vendor_name", "Warder"}};
  say(app, "uid", is_session ? line_->text("session") : origin_);
  out["app"] = std::move(app);
  const std::string policy = line_->text("policy");
  if (!policy.empty())
    out["policy"] = {{"name", policy}, {"version", line_->text("policy_sha256")}};
  if (type == "session_end") {
    const std::int64_t code = signed_in(line_->members, "exit_code");
    out["status_id"] = code == 0 ? 1 : 2;
    out["status_code"] = std::to_string(code);
    say(out, "status_detail", line_->text("ended"));
  }
  if (type == "session_start") {
    object& more = out["unmapped"].as_object()["warder"].as_object();
    for (const char* key : {"command", "secrets", "mode", "uid", "user", "host", "cwd",
                            "config_sha256", "profile", "kernel"})
      if (const auto* value = line_->members.if_contains(key)) more[key] = *value;
  }
  return out;
}

object OcsfMapper::process() const {
  const bool launches = line_->type == "exec";
  object out = event(1007, launches ? 1 : 2, kInformational);
  object process{{"pid", line_->number("pid").value_or(0)}};
  if (launches) {
    const std::string path = line_->text("path");
    process["name"] = path.substr(path.rfind('/') + 1);
    std::string command;
    for (const std::string& argument : texts_in(line_->members, "argv"))
      command += (command.empty() ? "" : " ") + argument;
    process["cmd_line"] = command;
  } else {
    out["exit_code"] = signed_in(line_->members, "exit_code", -1);
  }
  out["process"] = std::move(process);
  out["actor"] = {{"app_name", "sandbox"}};
  out["device"] = sandbox(line_->text("session"));
  out["device"].as_object()["type_id"] = 0;
  return out;
}

// Somebody who had no token for a listener.
object OcsfMapper::stranger() const {
  object out = event(3002, 1, kMedium);
  out["user"] = {{"name", "unknown"}, {"type_id", 0}};
  out["service"] = {{"name", "Warder listener"}};
  const Place place = place_in(line_->text("authority"));
  if (!place.host.empty()) out["dst_endpoint"] = endpoint_of(place);
  out["action_id"] = 2;
  out["disposition_id"] = 2;
  set_status(out, line_->text("reason"));
  return out;
}

object OcsfMapper::other() const {
  object out = event(0, kOther, kInformational);
  out["activity_name"] = line_->type;
  for (const auto& [key, value] : line_->members)
    out["unmapped"].as_object()["warder"].as_object()[key] = value;
  return out;
}

object OcsfMapper::finding(const Open& of) const {
  const std::string reason = line_->text("reason");
  object out = event(2004, 1, kHigh);
  const std::string uid = leaf_ + "/finding";
  out["metadata"].as_object()["uid"] = uid;
  const ReasonInfo* known = info_of(reason);
  out["finding_info"] = {{"uid", uid},
                         {"title", known != nullptr ? known->phrase : reason},
                         {"types", array{reason}},
                         {"created_time", out["time"]}};
  out["is_alert"] = true;
  out["status_id"] = 1;
  out["action_id"] = 2;
  out["disposition_id"] = 2;
  out["resources"] = array{object{{"name", of.authority + of.path}, {"type", "request"}}};
  return out;
}

object OcsfMapper::mapped(const Open& of) const {
  const std::string& type = line_->type;
  if (type == "intent" && line_->text("reason") == "not_authenticated") return stranger();
  if (type == "intent") return intent();
  if (type == "receipt") return receipt(of);
  if (type == "dns") return look_up();
  if (type == "dial") return dial();
  if (type == "secret") return secret();
  if (type == "policy") return policy();
  if (type == "approval") return approval();
  if (type == "exec" || type == "exit") return process();
  for (const char* each : {"log", "resume", "repair", "close", "session_start", "session_end"})
    if (type == each) return lifecycle();
  return other();
}

std::vector<object> OcsfMapper::events(const audit::ReadRecord& record) {
  line_ = &record.line;
  leaf_ = audit::to_base64(record.leaf);
  if (line_->type == "log") {
    origin_ = line_->text("origin");
    open_.clear();
  }
  Open of{line_->text("method"), line_->text("authority"), line_->text("path"),
          line_->text("decision"), !objects_in(line_->members, "uses").empty()};
  if (line_->type == "receipt") {
    const auto found = open_.find(line_->number("intent_seq").value_or(0));
    if (found != open_.end()) {
      of = std::move(found->second);
      open_.erase(found);
    }
  } else if (line_->type == "intent" && line_->text("decision") != "deny" &&
             open_.size() < kMostOpen) {
    open_.emplace(line_->seq, of);
  }
  std::vector<object> out;
  out.push_back(mapped(of));
  if (is_tripwire(line_->text("reason"))) out.push_back(finding(of));
  line_ = nullptr;
  return out;
}

}  // namespace warder
