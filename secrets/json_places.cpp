#include "secrets/json_places.hpp"

#include <algorithm>

#include "http/chars.hpp"
#include "secrets/escapes.hpp"

namespace warder {
namespace {

constexpr unsigned kEscapeBegins = 5;
constexpr std::size_t kLongestSpelling = 6;  // of one byte of a key: \u0041

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
// Numbers, true, false, null. What they say is not looked at.
bool is_word(char c) { return is_alnum(c) || c == '-' || c == '+' || c == '.'; }

}  // namespace

std::optional<std::vector<std::string>> parse_json_pointer(std::string_view text) {
  if (!text.starts_with('/')) return std::nullopt;
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '/') {
      tokens.emplace_back();
    } else if (text[at] != '~') {
      tokens.back() += text[at];
    } else {
      const char what = ++at < text.size() ? text[at] : '\0';
      if (what != '0' && what != '1') return std::nullopt;
      tokens.back() += what == '0' ? '~' : '/';
    }
  }
  return tokens;
}

JsonPlaces::JsonPlaces(std::vector<std::vector<std::string>> pointers)
    : pointers_(std::move(pointers)), matched_(pointers_.size(), 0) {
  for (const auto& pointer : pointers_) {
    for (const std::string& token : pointer)
      longest_key_ = std::max(longest_key_, token.size() * kLongestSpelling);
  }
}

PlaceRun JsonPlaces::next(std::string_view in) {
  if (inside_ != PlaceRun::kOutside) return next_in_place(in);
  for (std::size_t at = 0; at < in.size(); ++at) {
    // Ordinary text within a string that nobody wants: the most of a body.
    if (state_ == State::in_string && escape_left_ == 0) {
      while (at < in.size() && in[at] != '"' && in[at] != '\\' &&
             static_cast<unsigned char>(in[at]) >= ' ')
        ++at;
      if (at == in.size()) break;
    }
    if (state_ == State::broken) break;
    step(in[at]);
    if (inside_ != PlaceRun::kOutside) return {at + (inside_string_ ? 1 : 0)};
  }
  return {in.size()};
}

PlaceRun JsonPlaces::next_in_place(std::string_view in) {
  const std::size_t place = inside_;
  for (std::size_t at = 0; at < in.size(); ++at) {
    const char c = in[at];
    const bool more = inside_string_ ? passes_string_byte(c) : is_word(c);
    if (more) continue;
    inside_ = PlaceRun::kOutside;
    // The quote, or what stands behind a word, comes again as outside.
    const bool is_whole = state_ != State::broken;
    if (is_whole) state_ = inside_string_ ? State::in_string : State::after_value;
    return {at, place, true, is_whole, inside_string_};
  }
  return {in.size(), place, false, true, inside_string_};
}

// False: the closing quote, or what cannot stand in a string.
bool JsonPlaces::passes_string_byte(char c) {
  if (static_cast<unsigned char>(c) < ' ') {
    state_ = State::broken;
    return false;
  }
  if (escape_left_ == kEscapeBegins) {
    escape_left_ = c == 'u' ? 4 : 0;
    if (std::string_view("\"\\/bfnrtu").find(c) != std::string_view::npos) return true;
    state_ = State::broken;
    return false;
  }
  if (escape_left_ > 0) {
    --escape_left_;
    if (hex_value(c) >= 0) return true;
    state_ = State::broken;
    return false;
  }
  if (c == '\\') escape_left_ = kEscapeBegins;
  return c != '"';
}

void JsonPlaces::step(char c) {
  switch (state_) {
    case State::in_key: take_key_byte(c); return;
    case State::in_string:
      if (!passes_string_byte(c) && state_ != State::broken) state_ = State::after_value;
      return;
    case State::in_word:
      if (is_word(c)) return;
      state_ = State::after_value;
      break;
    default: break;
  }
  if (is_blank(c)) {
    if (state_ == State::after_value && levels_.empty()) state_ = State::end;
    return;
  }
  switch (state_) {
    case State::first_element:
      if (c == ']') return close(c);
      begin_member("0");
      begin_value(c);
      return;
    case State::value: begin_value(c); return;
    case State::first_key:
      if (c == '}') return close(c);
      [[fallthrough]];
    case State::key:
      state_ = c == '"' ? State::in_key : State::broken;
      key_.clear();
      key_is_too_long_ = false;
      return;
    case State::colon: state_ = c == ':' ? State::value : State::broken; return;
    case State::after_value:
      if (c == ',') return separate();
      return close(c);
    default: state_ = State::broken; return;
  }
}

void JsonPlaces::begin_value(char c) {
  if (c == '{' || c == '[') return open(c == '{');
  if (c != '"' && c != '-' && !is_digit(c) && c != 't' && c != 'f' && c != 'n') {
    state_ = State::broken;
    return;
  }
  inside_string_ = c == '"';
  state_ = inside_string_ ? State::in_string : State::in_word;
  escape_left_ = 0;
  inside_ = named();
}

void JsonPlaces::open(bool is_object) {
  if (levels_.size() == kMaxDepth) {
    state_ = State::broken;
    return;
  }
  levels_.push_back({is_object});
  state_ = is_object ? State::first_key : State::first_element;
}

void JsonPlaces::close(char c) {
  if (levels_.empty() || c != (levels_.back().is_object ? '}' : ']')) {
    state_ = State::broken;
    return;
  }
  levels_.pop_back();
  for (std::size_t& matched : matched_) matched = std::min(matched, levels_.size());
  state_ = levels_.empty() ? State::end : State::after_value;
}

void JsonPlaces::separate() {
  if (levels_.empty()) {
    state_ = State::broken;
  } else if (levels_.back().is_object) {
    state_ = State::key;
  } else {
    begin_member(std::to_string(++levels_.back().index));
    state_ = State::value;
  }
}

void JsonPlaces::take_key_byte(char c) {
  const bool was_plain = escape_left_ == 0;
  if (passes_string_byte(c)) {
    key_is_too_long_ |= key_.size() == longest_key_;
    if (!key_is_too_long_) key_ += c;
    return;
  }
  if (state_ == State::broken || !was_plain) {
    state_ = State::broken;
    return;
  }
  state_ = State::colon;
  const Unescaped key = unescape(key_, Escapes::json);
  if (!key_is_too_long_) return begin_member(as_view(key.plain));
  for (std::size_t& matched : matched_) matched = std::min(matched, levels_.size() - 1);
}

// The value that comes next stands there in its object or array.
void JsonPlaces::begin_member(std::string_view token) {
  const std::size_t depth = levels_.size();
  for (std::size_t p = 0; p < pointers_.size(); ++p) {
    std::size_t& matched = matched_[p];
    matched = std::min(matched, depth - 1);
    const auto& pointer = pointers_[p];
    if (matched == depth - 1 && pointer.size() >= depth && pointer[depth - 1] == token)
      matched = depth;
  }
}

std::size_t JsonPlaces::named() const {
  for (std::size_t p = 0; p < pointers_.size(); ++p) {
    if (!levels_.empty() && matched_[p] == levels_.size() && pointers_[p].size() == levels_.size())
      return p;
  }
  return PlaceRun::kOutside;
}

}  // namespace warder
