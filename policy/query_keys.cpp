#include "policy/query_keys.hpp"

#include <algorithm>

#include "http/chars.hpp"
#include "policy/path_forms.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

// What cannot stand in a listed key, because it separates, ends or escapes one.
constexpr std::string_view kReserved = "&;=%+#";

template <class Visit>
void for_each_key(std::string_view query, Visit visit) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find_first_of("&;"), query.size());
    const std::string_view piece = query.substr(0, end);
    if (!piece.empty()) visit(piece.substr(0, piece.find('=')));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
}

bool is_listed(std::string_view key, std::span<const QueryKey> listed) {
  return std::any_of(listed.begin(), listed.end(),
                     [&](const QueryKey& one) { return one.str() == key; });
}

bool is_padding(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == '+' || c == '?' || c == 0x7f;
}

std::string fold(std::string_view key) {
  key = key.substr(0, key.find('\0'));
  while (!key.empty() && is_padding(key.front())) key.remove_prefix(1);
  while (!key.empty() && is_padding(key.back())) key.remove_suffix(1);
  std::string out(key);
  for (char& c : out) c = c == '.' || c == '+' || c == ' ' ? '_' : to_lower(c);
  return out;
}

std::string correction(std::string_view text) {
  const std::string decoded = decode_escapes(text, EscapedSlash::slash);
  const std::string key = decoded.substr(0, decoded.find_first_of(kReserved));
  return key.empty() ? "write the key alone" : "write " + in_quotes(key);
}

}  // namespace

std::variant<QueryKey, std::string> QueryKey::parse(std::string_view text) {
  const std::string entry = in_quotes(text);
  if (text.empty()) return entry + " is no key: write its name";
  if (text == "*") return entry + " would mean any key: leave 'query' out to mean any";
  if (text.size() > kMaxBytes)
    return entry + " is longer than " + std::to_string(kMaxBytes) + " bytes, which no key is";
  if (text.find_first_of(kReserved) != std::string_view::npos) {
    return entry + " has a character that ends or escapes a key, and keys are written alone: " +
           correction(text);
  }
  const auto fits = [](char c) {
    return is_in(kVisible, c) || static_cast<unsigned char>(c) >= 0x80;
  };
  if (!std::all_of(text.begin(), text.end(), fits) || fold(text).empty())
    return entry + " has a space or control character in it, or is none: write the key alone";
  return QueryKey(std::string(text));
}

QueryKey::QueryKey(std::string text) : text_(std::move(text)) {
  const std::string_view whole = text_;
  folded_ = fold(whole.ends_with("[]") ? whole.substr(0, whole.size() - 2) : whole);
}

bool has_only_keys(std::string_view query, std::span<const QueryKey> listed) {
  bool only = true;
  for_each_key(query, [&](std::string_view key) {
    if (!only) return;
    only = key.find('%') == std::string_view::npos
               ? is_listed(key, listed)
               : is_listed(decode_escapes(key, EscapedSlash::slash), listed);
  });
  return only;
}

AllKeys::AllKeys(std::string_view query) {
  std::string form(query);
  for (int round = 0; round <= kMaxDecodings; ++round) {
    for_each_key(form, [&](std::string_view key) {
      folded_.push_back(fold(key));
      if (const auto bracket = key.find('['); bracket != std::string_view::npos)
        folded_.push_back(fold(key.substr(0, bracket)));
    });
    std::string decoded = decode_escapes(form, EscapedSlash::slash);
    if (decoded == form) break;
    form = std::move(decoded);
  }
  std::sort(folded_.begin(), folded_.end());
}

bool AllKeys::has_any(std::span<const QueryKey> listed) const {
  return std::any_of(listed.begin(), listed.end(), [&](const QueryKey& one) {
    return std::binary_search(folded_.begin(), folded_.end(), one.folded());
  });
}

}  // namespace warder
