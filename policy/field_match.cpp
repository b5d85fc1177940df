#include "policy/field_match.hpp"

#include <algorithm>

#include "http/chars.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_lower);
  return out;
}

// The pieces between stars, each as early as it can stand.
bool fits_glob(std::string_view pattern, std::string_view text) {
  std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  text.remove_prefix(star);
  for (;;) {
    pattern.remove_prefix(star + 1);
    star = pattern.find('*');
    if (star == std::string_view::npos) return text.ends_with(pattern);
    const std::string_view piece = pattern.substr(0, star);
    const std::size_t at = text.find(piece);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + piece.size());
  }
}

// The next member of a list with commas, trimmed; `rest` is what follows it.
std::string_view next_member(std::string_view& rest) {
  const std::size_t comma = std::min(rest.find(','), rest.size());
  const std::string_view member = trim(rest.substr(0, comma));
  rest.remove_prefix(std::min(comma + 1, rest.size()));
  return member;
}

bool has_comma(std::string_view text) { return text.find(',') != std::string_view::npos; }

std::string_view unquoted(std::string_view member) {
  const bool quoted = member.size() >= 2 && member.starts_with('"') && member.ends_with('"');
  return quoted ? member.substr(1, member.size() - 2) : member;
}

}  // namespace

std::variant<ValuePattern, std::string> ValuePattern::parse(std::string_view text) {
  const std::string entry = in_quotes(text);
  if (text.empty()) return entry + " is no value: write \"*\" for any";
  if (text.size() > kMaxBytes)
    return entry + " is longer than " + std::to_string(kMaxBytes) + " bytes: use \"*\"";
  if (!all_in(kFieldChar, text)) return entry + " has a control character, which no value has";
  if (trim(text) != text)
    return entry + " begins or ends with a space, which no value does: write " +
           in_quotes(trim(text));
  if (text.find("**") != std::string_view::npos)
    return entry + " has two stars in a row: \"*\" is any run of characters";
  return ValuePattern(std::string(text));
}

ValuePattern::ValuePattern(std::string text) : text_(std::move(text)), lowered_(lowered(text_)) {}

bool ValuePattern::fits(std::string_view value) const {
  if (text_ == "*") return true;
  if (std::count(text_.begin(), text_.end(), ',') != std::count(value.begin(), value.end(), ','))
    return false;
  std::string_view pattern = text_;
  for (;;) {
    const std::size_t comma = pattern.find(',');
    const std::size_t same = value.find(',');
    if (!fits_glob(pattern.substr(0, comma), value.substr(0, same))) return false;
    if (comma == std::string_view::npos) return true;
    pattern.remove_prefix(comma + 1);
    value.remove_prefix(same + 1);
  }
}

bool ValuePattern::fits_lowered(std::string_view value) const { return fits_glob(lowered_, value); }

FieldMatch::FieldMatch(std::string name, std::vector<ValuePattern> values)
    : name_(lowered(name)), values_(std::move(values)) {}

bool FieldMatch::may_be_named(std::string_view name) const {
  const auto alike = [](char c) { return c == '_' ? '-' : to_lower(c); };
  return std::equal(name.begin(), name.end(), name_.begin(), name_.end(),
                    [&](char a, char b) { return alike(a) == alike(b); });
}

bool FieldMatch::fits(std::string_view value) const {
  const auto some_fits = [&](std::string_view one) {
    return std::any_of(values_.begin(), values_.end(),
                       [&](const ValuePattern& pattern) { return pattern.fits(one); });
  };
  if (some_fits(value)) return true;
  if (!has_comma(value)) return false;
  bool any = false;
  while (!value.empty()) {
    const std::string_view member = next_member(value);
    if (member.empty()) continue;
    if (!some_fits(member)) return false;
    any = true;
  }
  return any;
}

bool FieldMatch::allows(const HeaderList& fields) const {
  bool there = false;
  for (const HeaderField& field : fields) {
    if (!may_be_named(field.name)) continue;
    if (!fits(field.value)) return false;
    there |= same_name(field.name, name_);
  }
  return there && !fields.has_token("connection", name_);
}

bool FieldMatch::fits_lowered(std::string_view value) const {
  return std::any_of(values_.begin(), values_.end(),
                     [&](const ValuePattern& pattern) { return pattern.fits_lowered(value); });
}

bool FieldMatch::denies(const HeaderList& fields) const {
  for (const HeaderField& field : fields) {
    if (!may_be_named(field.name)) continue;
    const std::string value = lowered(field.value);
    if (fits_lowered(value) || fits_lowered(unquoted(value))) return true;
    for (std::string_view rest = value; !rest.empty();) {
      const std::string_view member = next_member(rest);
      if (fits_lowered(member) || fits_lowered(unquoted(member))) return true;
    }
  }
  return false;
}

}  // namespace warder
