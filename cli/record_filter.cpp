#include "cli/record_filter.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <optional>
#include <stdexcept>

#include "cli/record_fields.hpp"

namespace warder {
namespace {

std::optional<std::chrono::seconds> ago(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  std::int64_t number = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number < 0 || number > 1'000'000) return std::nullopt;
  switch (text.back()) {
    case 's': return std::chrono::seconds(number);
    case 'm': return std::chrono::minutes(number);
    case 'h': return std::chrono::hours(number);
    case 'd': return std::chrono::days(number);
    default: return std::nullopt;
  }
}

bool is_utc_moment(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd.dddddd";
  const bool ends_well = text.size() == 10 || text.size() == 16 || text.size() == 19 ||
                         (text.size() > 20 && text.size() <= kShape.size());
  return ends_well && std::equal(text.begin(), text.end(), kShape.begin(), [](char c, char shape) {
           return shape == 'd' ? c >= '0' && c <= '9' : c == shape;
         });
}

bool is_host(std::string_view wanted, std::string_view host) {
  if (!wanted.starts_with("*.")) return wanted == host;
  return host.size() > wanted.size() - 1 && host.ends_with(wanted.substr(1));
}

}  // namespace

std::string moment_of(const std::string& text, std::chrono::system_clock::time_point now) {
  if (const auto time = ago(text)) {
    const std::time_t then = std::chrono::system_clock::to_time_t(now - *time);
    std::tm parts{};
    ::gmtime_r(&then, &parts);
    std::array<char, 32> out{};
    return {out.data(), std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%S", &parts)};
  }
  std::string moment = text;
  if (moment.ends_with('Z') && moment.size() > 10) moment.pop_back();
  if (!is_utc_moment(moment)) {
    throw std::runtime_error("'" + text +
                             "' is no time: give 2026-11-29, 2026-11-29T12:00:00Z (UTC), or how "
                             "long ago, such as 15m, 2h, 7d");
  }
  return moment;
}

bool RecordMatcher::is_in_time(std::string_view time) const {
  return (wanted_.since.empty() || time >= wanted_.since) &&
         (wanted_.until.empty() || time < wanted_.until);
}

bool RecordMatcher::names_secret(const audit::ParsedLine& line) const {
  for (const char* list : {"uses", "masked", "swapped"}) {
    for (const boost::json::object* item : objects_in(line.members, list))
      if (text_in(*item, "name") == wanted_.secret) return true;
  }
  const auto names = texts_in(line.members, "secrets");
  return line.text("secret") == wanted_.secret ||
         std::find(names.begin(), names.end(), wanted_.secret) != names.end();
}

RecordMatcher::Intent RecordMatcher::intent_of(const audit::ParsedLine& line) {
  if (line.type == "receipt") {
    const auto found = open_.find(line.number("intent_seq").value_or(0));
    if (found == open_.end()) return {};
    Intent intent = std::move(found->second);
    open_.erase(found);
    return intent;
  }
  const std::string authority = line.text("authority");
  Intent here{host_in(authority.empty() ? line.text("name") : authority), line.text("decision"),
              false};
  if (line.type != "intent") return here;
  here.has_secret = names_secret(line);
  if (here.decision != "deny" && open_.size() < kMostOpen) open_.emplace(line.seq, here);
  return here;
}

bool RecordMatcher::matches(const audit::ParsedLine& line) {
  const Intent intent = intent_of(line);
  const auto is = [](const std::string& wanted, std::string_view found) {
    return wanted.empty() || wanted == found;
  };
  return is(wanted_.session, line.text("session")) && is(wanted_.type, line.type) &&
         is(wanted_.decision, intent.decision) && is(wanted_.reason, line.text("reason")) &&
         (wanted_.host.empty() || is_host(wanted_.host, intent.host)) &&
         (wanted_.secret.empty() || intent.has_secret || names_secret(line)) &&
         is_in_time(line.stamp.time);
}

}  // namespace warder
