#include "config/reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "config/spelling.hpp"
#include "http/chars.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

// Named in the design, refused until they work.
constexpr auto kNotYet =
    std::to_array<std::string_view>({"addresses", "admin", "clear_text", "foreign", "listen", "log",
                                     "metrics", "mint", "schemes", "scheme", "vault"});

std::string as_list(std::string_view key, const YamlNode& node) {
  return ": write " + std::string(key) + ": [" +
         (node.is_quoted ? in_quotes(node.text) : node.text) + ']';
}

bool all_of(std::string_view text, bool (*belongs)(char)) {
  return std::all_of(text.begin(), text.end(), belongs);
}

}  // namespace

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null: return "empty";
    case YamlNode::Kind::list: return "a list";
    case YamlNode::Kind::map: return "a map";
    case YamlNode::Kind::scalar: break;
  }
  return in_quotes(node.text);
}

std::string Reader::where(YamlPlace place) const {
  return file_.filename().string() + ':' + std::to_string(place.line);
}

std::string Reader::exact(YamlPlace place) const {
  return name_ + ':' + std::to_string(place.line) + ':' + std::to_string(place.column);
}

std::filesystem::path Reader::resolved(const std::string& path) const {
  const std::filesystem::path directory = std::filesystem::absolute(file_).parent_path();
  return (directory / path).lexically_normal();
}

void Reader::expect_map(const YamlNode& node, std::string_view key) const {
  if (node.kind == YamlNode::Kind::map) return;
  fail(node.place, "'" + std::string(key) + "' must be a map (key: value), not " + describe(node));
}

void Reader::expect_keys(const YamlNode& node, const Keys& keys) const {
  for (const YamlEntry& entry : node.entries) {
    if (std::find(keys.known.begin(), keys.known.end(), entry.key) != keys.known.end()) continue;
    if (std::find(kNotYet.begin(), kNotYet.end(), entry.key) != kNotYet.end()) {
      fail(entry.place, "key '" + entry.key + "' in " + keys.what + " is not there yet: remove it");
    }
    const std::string key = in_quotes(entry.key);
    fail(entry.place, "unknown key '" + key.substr(1, key.rfind('"') - 1) + "' in " + keys.what +
                          did_you_mean(entry.key, keys.known));
  }
}

const YamlNode* Reader::find(const YamlNode& map, std::string_view key) const {
  for (const YamlEntry& entry : map.entries) {
    if (entry.key != key) continue;
    if (entry.value.kind == YamlNode::Kind::null) {
      fail(entry.place, "'" + entry.key + "' has no value: give it one, or remove the key");
    }
    return &entry.value;
  }
  return nullptr;
}

const YamlNode& Reader::need(const YamlNode& map, std::string_view key, const Keys& keys) const {
  if (const YamlNode* value = find(map, key)) return *value;
  fail(map.place, keys.what + " has no '" + std::string(key) + "': add it");
}

const std::vector<YamlNode>& Reader::list(const YamlNode& node, std::string_view key) const {
  const std::string name = "'" + std::string(key) + "'";
  if (node.kind == YamlNode::Kind::scalar) {
    fail(node.place, name + " must be a list, not " + describe(node) + as_list(key, node));
  }
  if (node.kind != YamlNode::Kind::list)
    fail(node.place, name + " must be a list, not " + describe(node));
  if (node.items.empty()) {
    fail(node.place, name + " is an empty list: name at least one, or remove the key");
  }
  return bounded(node, key);
}

const std::vector<YamlNode>& Reader::bounded(const YamlNode& node, std::string_view key,
                                             std::size_t most) const {
  if (node.items.size() > most) {
    fail(node.items[most].place,
         "'" + std::string(key) + "' has more than " + std::to_string(most) + " entries");
  }
  return node.items;
}

const std::string& Reader::text(const YamlNode& node, std::string_view key) const {
  if (node.kind != YamlNode::Kind::scalar) {
    fail(node.place, "'" + std::string(key) + "' must be text, not " + describe(node));
  }
  return node.text;
}

std::uint16_t Reader::port(const YamlNode& node) const {
  const std::string entry = describe(node);
  if (node.kind != YamlNode::Kind::scalar) {
    fail(node.place, "'ports' must hold numbers, not " + entry);
  }
  unsigned number = 0;
  const char* end = node.text.data() + node.text.size();
  const auto [stop, error] = std::from_chars(node.text.data(), end, number);
  const bool is_number = !node.text.empty() && stop == end && all_of(node.text, is_digit);
  if (!is_number) {
    const bool range = node.text.find('-') != std::string::npos && node.text.find('-') > 0;
    fail(node.place, "port " + entry +
                         (range ? " is a range, which is not there yet: list each port"
                                : " is not a number from 1 to 65535"));
  }
  if (error != std::errc{} || number == 0 || number > 65535) {
    fail(node.place, "port " + entry + " is out of range: a port is a number from 1 to 65535");
  }
  const std::string plain = std::to_string(number);
  if (node.is_quoted)
    fail(node.place, "port " + entry + " is text: write " + plain + " without quotes");
  if (plain != node.text) fail(node.place, "port " + entry + " has a leading zero: write " + plain);
  return static_cast<std::uint16_t>(number);
}

bool Reader::yes_or_no(const YamlNode& node, std::string_view key) const {
  if (node.kind == YamlNode::Kind::scalar && !node.is_quoted) {
    if (node.text == "true") return true;
    if (node.text == "false") return false;
  }
  fail(node.place, "'" + std::string(key) + "' must be true or false, not " + describe(node));
}

std::chrono::milliseconds Reader::duration(const YamlNode& node, std::string_view key) const {
  using std::chrono::milliseconds;
  constexpr milliseconds kLongest = std::chrono::hours(24);
  const std::string& value = text(node, key);
  std::uint32_t number = 0;
  const char* end = value.data() + value.size();
  const auto [unit_begin, error] = std::from_chars(value.data(), end, number);
  const std::string_view unit(unit_begin, static_cast<std::size_t>(end - unit_begin));
  const std::int64_t factor = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "m" ? 60'000 : 0;
  const milliseconds time(number * factor);
  if (error == std::errc{} && time > milliseconds::zero() && time <= kLongest) return time;
  fail(node.place, "'" + std::string(key) + "' is " + in_quotes(value) +
                       ": write a time with its unit, from 1ms to 1440m, such as 500ms, 10s or 5m");
}

std::filesystem::path Reader::path(const YamlNode& node, std::string_view key) const {
  const std::string& value = text(node, key);
  if (has_control(value)) {
    fail(node.place, "'" + std::string(key) + "' is " + in_quotes(value) +
                         ": a control character stands in it");
  }
  if (value.empty()) fail(node.place, "'" + std::string(key) + "' is \"\": write a path");
  if (value.starts_with('~')) {
    fail(node.place, "'" + std::string(key) + "' is " + in_quotes(value) +
                         ": \"~\" is not expanded, so write the whole path");
  }
  return resolved(value);
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         all_of(name, [](char c) { return is_alnum(c) || c == '_' || c == '-'; });
}

bool is_rule_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         all_of(name, [](char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; });
}

bool is_env_name(std::string_view name) {
  return !name.empty() && name.size() <= 256 && !is_digit(name.front()) &&
         all_of(name, [](char c) { return is_alnum(c) || c == '_'; });
}

bool is_reserved_env(std::string_view name) {
  constexpr auto kReserved =
      std::to_array<std::string_view>({"PATH", "HOME", "USER", "SHELL", "TERM", "LANG", "TZ",
                                       "COLORTERM", "NO_COLOR", "CI", "PWD"});
  return name.starts_with("LD_") || name.starts_with("LC_") ||
         std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

}  // namespace warder
