#include "policy/pattern_cover.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "policy/path_forms.hpp"

namespace warder {
namespace {

enum class Kind : std::uint8_t { letter, star, star_star };
struct Token {
  Kind kind;
  char letter = 0;
};
using Tokens = std::vector<Token>;

Tokens tokens_of(std::string_view text) {
  Tokens tokens;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '*') {
      tokens.push_back({Kind::letter, text[i]});
    } else if (text.substr(i, 2) == "**") {
      tokens.push_back({Kind::star_star});
      ++i;
    } else {
      tokens.push_back({Kind::star});
    }
  }
  return tokens;
}

// "…/**", which is also the bare parent.
bool ends_across(std::span<const Token> tokens) {
  return tokens.size() >= 2 && tokens.back().kind == Kind::star_star &&
         tokens[tokens.size() - 2].kind == Kind::letter && tokens[tokens.size() - 2].letter == '/';
}

bool is_separator(std::span<const Token> tokens, std::size_t at) {
  const auto is = [&](std::size_t i, char c) {
    return i < tokens.size() && tokens[i].kind == Kind::letter && tokens[i].letter == c;
  };
  return is(at, '/') || (is(at, '%') && is(at + 1, '2') && is(at + 2, 'F'));
}

// Runs `wide` over `narrow` as if that were a path. What a wildcard of `narrow` stands for may be
// anything, so only a wildcard of `wide` that takes anything of its kind takes it: the states that
// are left are reached by every path that `narrow` matches.
bool takes_all(std::span<const Token> wide, std::span<const Token> narrow) {
  const std::size_t last = wide.size();
  std::vector<bool> active(last + 1);
  active[0] = true;
  const auto skip_wildcards = [&](std::vector<bool>& states) {
    for (std::size_t i = 0; i < last; ++i) {
      if (states[i] && wide[i].kind != Kind::letter) states[i + 1] = true;
    }
  };
  skip_wildcards(active);
  for (std::size_t at = 0; at < narrow.size(); ++at) {
    const Token& token = narrow[at];
    const bool may_star =
        token.kind == Kind::star || (token.kind == Kind::letter && !is_separator(narrow, at));
    std::vector<bool> next(last + 1);
    bool any = false;
    for (std::size_t i = 0; i < last; ++i) {
      if (!active[i]) continue;
      const bool stays =
          wide[i].kind == Kind::star_star || (wide[i].kind == Kind::star && may_star);
      const bool moves = wide[i].kind == Kind::letter && token.kind == Kind::letter &&
                         wide[i].letter == token.letter;
      if (stays) next[i] = true;
      if (moves) next[i + 1] = true;
      any |= stays || moves;
    }
    if (!any) return false;
    skip_wildcards(next);
    active = std::move(next);
  }
  return active[last] || (ends_across(wide) && active[last - 2]);
}

}  // namespace

bool covers(const HostPattern& wide, const HostPattern& narrow) {
  const std::string outer = wide.key();
  const std::string inner = narrow.key();
  const bool same = inner == outer;
  switch (wide.kind()) {
    case HostPattern::Kind::exact: return same && narrow.kind() == HostPattern::Kind::exact;
    case HostPattern::Kind::below:
      return inner.starts_with(outer) && (!same || narrow.kind() == HostPattern::Kind::below);
    case HostPattern::Kind::apex_and_below:
    case HostPattern::Kind::range: return inner.starts_with(outer);
  }
  return false;
}

bool covers(const PathPattern& wide, const PathPattern& narrow) {
  if (wide.is_any() || wide == narrow) return true;
  const Tokens outer = tokens_of(with_upper_escapes(wide.str()));
  const Tokens inner = tokens_of(with_upper_escapes(narrow.str()));
  if (!takes_all(outer, inner)) return false;
  return !ends_across(inner) || takes_all(outer, std::span(inner).first(inner.size() - 2));
}

}  // namespace warder
