#include "cli/audit_report.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "cli/record_fields.hpp"

namespace warder {
namespace {

using audit::ParsedLine;

constexpr std::size_t kMostOpen = 65'536;

bool is_bad(std::string_view reason) { return !reason.empty() && reason != "none"; }

// "(57 more)" stands for so many.
std::uint64_t count_of(std::string_view name) {
  std::uint64_t count = 1;
  if (name.starts_with('(') && name.ends_with(" more)"))
    std::from_chars(name.data() + 1, name.data() + name.size(), count);
  return count;
}

}  // namespace

void EventList::add(Event event) {
  if (events.size() < kMost) {
    events.push_back(std::move(event));
  } else {
    ++more;
  }
}

Event ReportMaker::event(const ParsedLine& line, std::vector<std::string> words) const {
  return {file_, line.seq, line.stamp.time, line.text("session"), std::move(words)};
}

void ReportMaker::next_file(std::string name) {
  file_ = std::move(name);
  open_.clear();
}

void ReportMaker::feed(const ParsedLine& line, bool counts) {
  if (line.type == "intent" && line.text("decision") != "deny" && open_.size() < kMostOpen) {
    Open open{line.text("authority"), line.text("method"), {}};
    for (const boost::json::object* use : objects_in(line.members, "uses")) {
      open.uses.emplace_back(
          text_in(*use, "name") + '@' + std::to_string(number_in(*use, "version")),
          text_in(*use, "place"));
    }
    open_.emplace(line.seq, std::move(open));
  }
  if (counts) {
    ++report_.records;
    take(line);
  }
  if (line.type == "receipt") open_.erase(line.number("intent_seq").value_or(0));
}

void ReportMaker::take(const ParsedLine& line) {
  const auto texts = [&](std::initializer_list<const char*> keys) {
    std::vector<std::string> words;
    for (const char* key : keys) words.push_back(line.text(key));
    return words;
  };
  const auto is_one_of = [&](std::initializer_list<std::string_view> types) {
    return std::find(types.begin(), types.end(), line.type) != types.end();
  };
  if (line.type == "session_start") return start(line);
  if (line.type == "session_end") return end(line);
  if (line.type == "intent") return intent(line);
  if (line.type == "receipt") return receipt(line);
  if (line.type == "dns") return look_up(line);
  if (line.type == "exec") return exec(line);
  if (line.type == "approval") {
    auto words = texts({"decision", "scope", "method", "authority", "user", "how"});
    words[3] += line.text("path");
    report_.approvals.add(event(line, std::move(words)));
  } else if (line.type == "policy") {
    auto words = texts({"policy", "change", "by", "detail"});
    words[0] = "policy " + words[0];
    report_.changes.add(event(line, std::move(words)));
  } else if (line.type == "secret") {
    report_.changes.add(
        event(line, {"secret " + line.text("secret"), line.text("change"), "",
                     "version " + std::to_string(line.number("version").value_or(0))}));
  } else if (line.type == "limit") {
    if (line.text("state") == "held") return;
    auto words = texts({"name", "value", "state"});
    words.push_back(std::to_string(line.number("used").value_or(0)));
    report_.limits.add(event(line, std::move(words)));
  } else if (line.type == "files") {
    for (const boost::json::object* change : objects_in(line.members, "changes"))
      ++report_.files.of({text_in(*change, "change"), text_in(*change, "name")},
                         {text_in(*change, "change"), kOthers});
  } else if (!is_one_of({"log", "resume", "repair", "close", "checkpoint", "dial", "exit"})) {
    ++report_.other_types.of(line.type, kOthers);
  }
}

void ReportMaker::start(const ParsedLine& line) {
  SessionStory& story = report_.sessions[line.text("session")];
  story.started = line.stamp.time;
  story.policy = line.text("policy");
  story.policy_sha256 = line.text("policy_sha256");
  story.mode = line.text("mode");
  story.user = line.text("user");
  const std::int64_t uid = signed_in(line.members, "uid", -1);
  if (uid >= 0) story.uid = std::to_string(uid);
  story.host = line.text("host");
  story.cwd = line.text("cwd");
  story.command = texts_in(line.members, "command");
  story.secrets = texts_in(line.members, "secrets");
}

void ReportMaker::end(const ParsedLine& line) {
  SessionStory& story = report_.sessions[line.text("session")];
  story.ended = line.stamp.time;
  story.exit_code = signed_in(line.members, "exit_code");
  story.how = line.text("ended");
  story.exchanges = line.number("exchanges").value_or(0);
  story.refused = line.number("refused").value_or(0);
}

void ReportMaker::tripwire(const ParsedLine& line, const Open& open) {
  if (!is_tripwire(line.text("reason"))) return;
  report_.tripwires.add(
      event(line, {line.text("reason"), open.method, open.authority, line.text("rule")}));
}

void ReportMaker::intent(const ParsedLine& line) {
  const std::string authority = line.text("authority");
  const std::string decision = line.text("decision");
  const std::string reason = line.text("reason");
  if (decision == "deny") {
    const std::uint64_t count = count_of(authority);
    report_.hosts.of(authority, kOthers).refused += count;
    report_.refusals.of({reason, authority}, {reason, kOthers}) += count;
    tripwire(line, {authority, line.text("method"), {}});
    if (line.text("rule").starts_with("limits."))
      report_.limits.add(event(line, {line.text("rule"), "", "refused", ""}));
    return;
  }
  HostStory& host = report_.hosts.of(authority, kOthers);
  ++(decision == "observe" ? host.observed : host.allowed);
  const auto found = open_.find(line.seq);
  if (found == open_.end()) return;
  for (const auto& [name, place] : found->second.uses)
    // What goes into a body or a message is only announced here; the receipt counts it.
    if (!place.starts_with("body") && place != "ws")
      ++report_.secrets.of({name, authority, place}, {name, kOthers, place});
}

void ReportMaker::receipt(const ParsedLine& line) {
  const auto found = open_.find(line.number("intent_seq").value_or(0));
  const Open open = found == open_.end() ? Open{} : found->second;
  HostStory& host = report_.hosts.of(open.authority, kOthers);
  host.bytes_up += line.number("bytes_up").value_or(0);
  host.bytes_down += line.number("bytes_down").value_or(0);
  const std::string reason = line.text("reason");
  if (is_bad(reason)) {
    ++host.failed;
    ++report_.refusals.of({reason, open.authority}, {reason, kOthers});
    tripwire(line, open);
  }
  for (const boost::json::object* item : objects_in(line.members, "swapped")) {
    const std::string name = text_in(*item, "name");
    const std::string place = text_in(*item, "place");
    report_.secrets.of({name, open.authority, place}, {name, kOthers, place}) +=
        number_in(*item, "count");
  }
  for (const boost::json::object* item : objects_in(line.members, "masked"))
    report_.masked.of({text_in(*item, "name"), text_in(*item, "place")},
                      {text_in(*item, "name"), kOthers}) += number_in(*item, "count");
}

void ReportMaker::look_up(const ParsedLine& line) {
  const std::string reason = line.text("reason");
  if (!is_bad(reason)) return;
  const std::string name = line.text("name");
  report_.refusals.of({reason, "look-up of " + name}, {reason, kOthers}) += count_of(name);
}

void ReportMaker::exec(const ParsedLine& line) {
  const std::uint64_t count = std::max<std::uint64_t>(1, line.number("count").value_or(1));
  const std::string path = line.text("path");
  report_.programs.of(path.empty() ? "(" + line.text("note") + ")" : path, kOthers) += count;
}

}  // namespace warder
