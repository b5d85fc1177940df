#include "secrets/unit_scanner.hpp"

#include <algorithm>
#include <bit>

#include "secrets/matcher_tables.hpp"

namespace warder {
namespace {

// Of the table of grams: one bit in 16 is set at most, up to 512 KiB.
constexpr int kMinGramBits = 18;
constexpr int kMaxGramBits = 22;

std::size_t gram_hash(char a, char b, char c, unsigned bits) {
  const auto byte = [](char x) { return static_cast<std::uint32_t>(static_cast<std::uint8_t>(x)); };
  return (byte(a) | byte(b) << 8 | byte(c) << 16) * 0x9E3779B1U >> (32 - bits);
}

}  // namespace

PatternChars::PatternChars(const std::vector<std::string>& patterns)
    : wanted_(in_some(patterns)), escapes_(wanted_) {
  std::size_t all = 0;
  for (const std::string& pattern : patterns) {
    all += pattern.size();
    shortest_ = std::min(shortest_, pattern.size());
  }
  gram_bits_ =
      static_cast<unsigned>(std::clamp<int>(std::bit_width(16 * all), kMinGramBits, kMaxGramBits));
  grams_.assign((std::size_t{1} << gram_bits_) / 64, 0);
  for (const std::string& pattern : patterns) {
    for (std::size_t i = 2; i < pattern.size(); ++i) {
      const std::size_t gram = gram_hash(pattern[i - 2], pattern[i - 1], pattern[i], gram_bits_);
      grams_[gram / 64] |= std::uint64_t{1} << gram % 64;
    }
  }
}

PatternChars::~PatternChars() { wipe(reinterpret_cast<char*>(wanted_.data()), sizeof wanted_); }

CharClass PatternChars::in_some(const std::vector<std::string>& patterns) {
  CharClass wanted{};
  for (const std::string& pattern : patterns) {
    for (const char c : pattern) wanted[static_cast<unsigned char>(c)] = true;
  }
  return wanted;
}

bool PatternChars::may_hold(char a, char b, char c) const {
  const std::size_t gram = gram_hash(a, b, c, gram_bits_);
  return (grams_[gram / 64] >> gram % 64 & 1) != 0;
}

bool PatternChars::may_hold(std::string_view text, std::size_t at, const Unit& escape) const {
  if (shortest_ < 3 || at < 2) return true;
  const char c = escape.character;
  const char before = text[at - 1];
  if (may_hold(text[at - 2], before, c)) return true;
  const std::string_view after = text.substr(at + escape.size, 2);
  if (after.size() < 2 || begins_escape(after[0]) || begins_escape(after[1])) return true;
  return may_hold(before, c, after[0]) || may_hold(c, after[0], after[1]);
}

std::optional<Matcher::Hit> UnitScanner::next(std::string_view text, Input input) {
  if (matcher_->empty()) at_ = text.size();
  while (at_ < text.size()) {
    const Unit unit = walking_ ? read(text, input) : enter(text, input);
    if (!walking_) continue;
    if (unit.kind == Unit::Kind::cut) return std::nullopt;
    const bool is_escape = unit.kind == Unit::Kind::escape;
    raw_ = is_escape ? 0 : raw_ + 1;  // of a run of many one: the match may end with it
    const auto hit = step(unit.character, is_escape ? unit.size : 1);
    if (live_ <= raw_) leave();
    if (hit) return hit;
  }
  return std::nullopt;
}

Unit UnitScanner::read(std::string_view text, Input input) const {
  return read_unit(text.substr(at_), chars_->wanted(),
                   input == Input::last ? TextEnd::final : TextEnd::open);
}

// Goes on to the next escape that may be part of a match, and through the automaton over the bytes before it
// that may be part of the same one. Does not walk when there is none yet.
Unit UnitScanner::enter(std::string_view text, Input input) {
  at_ = chars_->escapes().find(text, at_);
  if (at_ == text.size()) return {Unit::Kind::cut, 0, 0};
  const Unit unit = read(text, input);
  if (unit.kind == Unit::Kind::raw) {
    at_ += unit.size;
    return unit;
  }
  if (unit.kind == Unit::Kind::escape && !chars_->may_hold(text, at_, unit)) {
    at_ += unit.size;
    floor_ = at_;
    return unit;
  }
  const std::size_t most = std::min(at_ - floor_, matcher_->longest() - 1);
  std::size_t before = std::min<std::size_t>(most, 1);
  // A cut escape may become any character.
  if (most >= 2 && (unit.kind == Unit::Kind::cut ||
                    chars_->may_hold(text[at_ - 2], text[at_ - 1], unit.character))) {
    before = 2;
    while (before < most &&
           chars_->may_hold(text[at_ - before - 1], text[at_ - before], text[at_ - before + 1])) {
      ++before;
    }
  }
  if (begins_.empty()) begins_.resize(std::bit_ceil(matcher_->longest() + 1));
  walking_ = true;
  raw_ = 0;
  const std::size_t escape = at_;
  for (at_ -= before; at_ < escape;) {
    ++raw_;
    step(text[at_], 1);
  }
  return unit;
}

std::optional<Matcher::Hit> UnitScanner::step(char character, std::size_t size) {
  const Matcher::Tables& tables = *matcher_->tables_;
  begins_[units_ & (begins_.size() - 1)] = gone_ + static_cast<std::uint32_t>(at_);
  ++units_;
  at_ += size;
  state_ = tables.step(state_, static_cast<std::uint8_t>(character));
  const Matcher::Tables::Node& node = tables.nodes[state_];
  live_ = node.live;
  if (node.hit == Matcher::npos || tables.sizes[node.hit] <= raw_) return std::nullopt;
  return Matcher::Hit{first_byte(units_ - tables.sizes[node.hit]), at_, node.hit};
}

std::size_t UnitScanner::first_byte(std::uint64_t unit) const {
  if (unit == units_) return at_;
  return static_cast<std::uint32_t>(begins_[unit & (begins_.size() - 1)] - gone_);
}

void UnitScanner::leave() {
  if (walking_) floor_ = at_ - std::min<std::size_t>(raw_, at_ - floor_);
  walking_ = false;
  state_ = 0;
  live_ = 0;
}

std::size_t UnitScanner::settled() const { return walking_ ? first_byte(units_ - live_) : at_; }

void UnitScanner::drop(std::size_t n) {
  at_ -= n;
  floor_ -= std::min(floor_, n);
  gone_ += static_cast<std::uint32_t>(n);
}

}  // namespace warder
