#include "cli/approval_service.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <filesystem>

#include "cli/session_records.hpp"
#include "proxy/await_approval.hpp"

namespace warder {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

AdminReply sentence(int status, std::string text) {
  AdminReply reply;
  reply.status = status;
  reply.body = std::move(text) + "\n";
  return reply;
}

AdminReply reply_of(const json::value& value) {
  AdminReply reply;
  reply.type = "application/json";
  reply.body = json::serialize(value) + "\n";
  return reply;
}

std::int64_t in_milliseconds(SteadyDuration time) {
  return std::chrono::duration_cast<milliseconds>(time).count();
}

json::object shown(const std::string& session, const Approvals::Asked& asked) {
  const Question& question = asked.question;
  json::array fields;
  for (const Question::Field& field : question.fields)
    fields.push_back(json::object{{"name", field.name}, {"value", field.value}});
  json::object body{{"shown", question.body.has_value()}};
  if (question.body) {
    body["bytes"] = question.body_bytes;
    body["sha256"] = question.body_sha256;
    body["text"] = *question.body;
  }
  return {{"id", asked.id},
          {"session", session},
          {"rule", question.rule},
          {"where", question.where},
          {"method", question.method},
          {"url", question.url},
          {"headers", std::move(fields)},
          {"headers_sha256", question.fields_sha256},
          {"body", std::move(body)},
          {"secrets", json::value_from(question.secrets)},
          {"count", asked.count},
          {"age_ms", in_milliseconds(asked.age)},
          {"expires_ms", in_milliseconds(asked.left)}};
}

std::string name_of_user(unsigned uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return "";
  return found->pw_name;
}

// A sandbox of this user that came to see the socket has the same uid, but not this network. Root, where we are not
// root, cannot be looked at, and needs no socket to do what it likes.
bool comes_from_outside(const AdminRequest& request) {
  const auto network_of = [](const std::string& process) {
    std::error_code failed;
    const auto link = std::filesystem::read_symlink("/proc/" + process + "/ns/net", failed);
    return failed ? std::string() : link.string();
  };
  const std::string own = network_of("self");
  const std::string theirs = network_of(std::to_string(request.pid));
  if (theirs.empty() && request.uid == 0 && ::geteuid() != 0) return true;
  return request.pid > 0 && !own.empty() && own == theirs;
}

// What a body says, or the sentence that says what is wrong with it.
struct Said {
  Answer answer;
  std::string how = "api";
  std::string wrong;
};

std::string text_at(const json::object& from, std::string_view key) {
  const json::value* value = from.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

Said said_in(const std::string& body) {
  Said said;
  boost::system::error_code failed;
  const json::value parsed = json::parse(body, failed);
  if (failed || !parsed.is_object()) {
    said.wrong = R"(the body is not a JSON object such as {"answer": "allow", "for": "once"})";
    return said;
  }
  const json::object& object = parsed.get_object();
  for (const auto& member : object) {
    const std::string_view key(member.key());
    if (key == "answer" || key == "for" || key == "count" || key == "via") continue;
    said.wrong = "there is a key that is not known: write answer, for, count and via only";
    return said;
  }
  const std::string answer = text_at(object, "answer");
  said.answer.yes = answer == "allow";
  if (answer != "allow" && answer != "deny") said.wrong = "answer is neither allow nor deny";
  if (text_at(object, "via") == "cli") said.how = "cli";
  const std::string time = text_at(object, "for");
  if (said.answer.yes && time != "once") {
    said.answer.rule_for = approval_time_of(time);
    if (!said.answer.rule_for)
      said.wrong = "for is neither once nor a time from 1s to 24h, such as 10m";
  }
  if (const json::value* count = object.if_contains("count")) {
    if (count->is_int64() && count->get_int64() > 0)
      said.answer.count = static_cast<std::uint64_t>(count->get_int64());
    else
      said.wrong = "count is not the number of requests that were shown";
  }
  return said;
}

}  // namespace

std::optional<std::chrono::seconds> approval_time_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto [unit, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view name(unit, static_cast<std::size_t>(text.data() + text.size() - unit));
  const std::int64_t factor = name == "s" ? 1 : name == "m" ? 60 : name == "h" ? 3600 : 0;
  const std::chrono::seconds time(number * factor);
  if (error != std::errc{} || time.count() < 1 || time > Approvals::kLongestRule)
    return std::nullopt;
  return time;
}

std::optional<AdminReply> ApprovalService::answer(const AdminRequest& request) const {
  if (!request.path.starts_with(kApprovalsPath)) return std::nullopt;
  const std::string rest = request.path.substr(kApprovalsPath.size());
  if (!rest.empty() && rest[0] != '/') return std::nullopt;
  if (!comes_from_outside(request))
    return sentence(403,
                    "approvals are seen and given in the gateway's own network namespace only");
  if (rest.empty())
    return request.method == "GET" ? list() : sentence(405, "GET lists what waits for an answer");
  if (request.method != "POST") return sentence(405, "POST answers a question");
  return decide(request, rest.substr(1));
}

AdminReply ApprovalService::list() const {
  json::array all;
  const SteadyTime now = steady_clock::now();
  for (const auto& session : sessions_.list()) {
    for (const Approvals::Asked& asked : session->approvals.list(now))
      all.push_back(shown(session->id, asked));
  }
  return reply_of(all);
}

AdminReply ApprovalService::decide(const AdminRequest& request, const std::string& id) const {
  const Said said = said_in(request.body);
  if (!said.wrong.empty()) return sentence(400, said.wrong);
  for (const auto& session : sessions_.list()) {
    auto asked = session->approvals.take(id, steady_clock::now());
    if (!asked) continue;
    audit::Approval record = approval_of(session->id, *asked);
    const bool for_rule = said.answer.yes && said.answer.rule_for.has_value();
    record.decision = said.answer.yes ? "allow" : "deny";
    record.scope = for_rule ? "rule" : said.answer.yes ? "once" : "";
    if (for_rule) record.until = rfc3339(clock_.now() + *said.answer.rule_for);
    if (said.answer.yes && !for_rule) record.count = std::min(record.count, said.answer.count);
    const std::uint64_t record_count = record.count;  // who joins meanwhile was not seen
    record.how = said.how;
    record.uid = request.uid;
    record.pid = request.pid;
    record.user = name_of_user(request.uid);
    const auto sequence = record_at_once(log_, std::move(record));
    if (!sequence) {
      session->approvals.give_back(id);
      return sentence(503, "the audit log cannot take the answer, so it does not count");
    }
    Answer answer = said.answer;
    answer.count = record_count;
    session->approvals.settle(id, answer, *sequence, steady_clock::now());
    return reply_of(json::object{{"id", id}, {"recorded", *sequence}});
  }
  return sentence(
      404, "no such question is open: it was answered, its time is over, or its client went");
}

}  // namespace warder
