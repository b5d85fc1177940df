#include "secrets/beside_placeholder.hpp"

#include <algorithm>
#include <string>

#include "http/chars.hpp"
#include "secrets/placeholder.hpp"

namespace warder {
namespace {

constexpr std::size_t kMostUser = 128;
constexpr std::size_t kMostName = 32;  // of a scheme, of a parameter

bool is_word(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alnum(c) || c == '-' || c == '_' || c == '.';
  });
}

// What some servers take as a credential by itself.
bool is_credential(std::string_view text) {
  return !known_prefix(text).empty() && text.size() >= 16;
}

// "" or `name=`, `name="`, `user:`.
bool is_lead(std::string_view text) {
  if (text.empty() || text == "\"") return true;
  if (text.ends_with('"')) text.remove_suffix(1);
  const std::string_view name = text.substr(0, text.size() - 1);
  if (text.ends_with('=')) return is_word(name, kMostName) && !is_credential(name);
  const bool user = text.ends_with(':') && name.size() <= kMostUser &&
                    name.find_first_of(":,;= \t\"") == std::string_view::npos;
  return user && !is_credential(name);
}

}  // namespace

bool stands_alone_in_authorization(std::string_view value, const Matcher& placeholders) {
  const auto hit = placeholders.find(value);
  if (hit.pattern == Matcher::npos) return false;
  std::string_view lead = trim(value.substr(0, hit.begin));
  const std::string_view behind = trim(value.substr(hit.end));
  if (!behind.empty() && behind != "\"" && behind != ":") return false;
  if (lead.empty()) return true;
  const std::size_t blank = lead.find_first_of(" \t");
  const bool apart = hit.begin > 0 && (value[hit.begin - 1] == ' ' || value[hit.begin - 1] == '\t');
  if (blank != std::string_view::npos) {
    if (!is_word(lead.substr(0, blank), kMostName)) return false;
    return !apart && is_lead(trim(lead.substr(blank)));
  }
  if (apart) return is_word(lead, kMostName) && !is_credential(lead);
  return is_lead(lead);
}

bool stands_alone_in_basic(std::string_view pair, const Matcher& placeholders) {
  const std::size_t colon = pair.find(':');
  if (colon == std::string_view::npos) return true;
  const std::string_view user = pair.substr(0, colon);
  if (placeholders.find(user).pattern != Matcher::npos) return true;  // whatever the password is
  return user.size() <= kMostUser && !is_credential(user);
}

}  // namespace warder
