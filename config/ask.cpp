#include <charconv>

#include "config/keys.hpp"
#include "config/sections.hpp"
#include "policy/quote.hpp"

namespace warder {

const Keys& ask_keys() {
  static const Keys kKeys{"ask", {"timeout", "pending"}};
  return kKeys;
}

namespace {

std::size_t pending_of(const Reader& reader, const YamlNode& node) {
  const std::string& text = reader.text(node, "pending");
  std::size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc{} && read == end && number >= 1 && number <= AskLimits::kMostPending)
    return number;
  reader.fail(node.place, "'pending' is " + in_quotes(text) +
                              ": write a number of open questions, from 1 to " +
                              std::to_string(AskLimits::kMostPending));
}

}  // namespace

AskLimits read_ask(const Reader& reader, const YamlNode& node) {
  reader.expect_map(node, "ask");
  reader.expect_keys(node, ask_keys());
  AskLimits limits;
  if (const YamlNode* timeout = reader.find(node, "timeout")) {
    limits.timeout = reader.duration(*timeout, "timeout");
    if (limits.timeout < AskLimits::kShortest || limits.timeout > AskLimits::kLongest) {
      reader.fail(timeout->place,
                  "'timeout' is " + in_quotes(timeout->text) + ": write a time from 1s to 60m");
    }
  }
  if (const YamlNode* pending = reader.find(node, "pending"))
    limits.pending = pending_of(reader, *pending);
  return limits;
}

}  // namespace warder
