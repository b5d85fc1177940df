#include "secrets/known_token.hpp"

#include <algorithm>
#include <bitset>

#include "http/chars.hpp"
#include "secrets/placeholder.hpp"
#include "secrets/shape.hpp"

namespace warder {
namespace {

constexpr std::size_t kShortest = 16;       // of what stands behind a prefix
constexpr std::size_t kFewestDistinct = 8;  // of 16 random hex digits, 10 are to be expected
constexpr std::size_t kSignature = 22;      // 128 bits in base64
constexpr std::size_t kPemLabel = 64;

constexpr CharClass kTokenChars =
    char_class([](int c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });

bool is_varied(std::string_view text) {
  std::bitset<256> seen;
  for (const char c : text) seen.set(static_cast<unsigned char>(c));
  return seen.count() >= kFewestDistinct;
}

// Words behind a short prefix such as "sk-" are not.
bool is_random(std::string_view text) {
  const auto any = [&](char from, char to) {
    return std::any_of(text.begin(), text.end(),
                       [from, to](char c) { return c >= from && c <= to; });
  };
  const bool is_hex = text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return any('0', '9') && any('a', 'z') && (is_hex || any('A', 'Z'));
}

// Both of its objects begin with '{"'.
bool is_jwt(std::string_view text) {
  const std::size_t payload = text.find(".eyJ");
  if (!text.starts_with("eyJ") || payload == std::string_view::npos) return false;
  const std::size_t signature = text.find('.', payload + 1);
  return signature != std::string_view::npos && text.size() - signature > kSignature;
}

bool is_token(std::string_view text) {
  if (text.size() > kMaxSecretBytes) return false;
  if (is_jwt(text)) return true;
  const std::string_view prefix = known_prefix(text);
  const std::string_view rest = text.substr(prefix.size());
  if (rest.size() < kShortest || !is_varied(rest)) return false;
  return has_issuers_form(text) || (!prefix.empty() && is_random(rest));
}

bool holds_private_key(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos;
       at = text.find(kBegin, at)) {
    at += kBegin.size();
    const std::string_view label = text.substr(at, kPemLabel);
    const std::size_t end = label.find("-----");
    if (label.substr(0, end).find("PRIVATE KEY") != std::string_view::npos &&
        end != std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace

bool holds_known_token(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t begin = at;
    while (at < text.size() && is_in(kTokenChars, text[at])) ++at;
    std::string_view run = text.substr(begin, at - begin);
    while (run.ends_with('.')) run.remove_suffix(1);  // of a sentence
    if (run.size() < kShortest) continue;
    if (is_token(run)) return true;
    // The letter of an escape such as "\n".
    if (begin > 0 && text[begin - 1] == '\\' && is_token(run.substr(1))) return true;
  }
  return holds_private_key(text);
}

}  // namespace warder
