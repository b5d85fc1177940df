#include "policy/path_pattern.hpp"

#include <algorithm>
#include <array>

#include "http/chars.hpp"
#include "http/target.hpp"
#include "policy/path_forms.hpp"
#include "policy/prefix_tree.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

bool is_unreserved(int c) { return is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~'; }

std::string escape_what_a_path_cannot_hold(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_in(kVisible, c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

// "/users/{id}" as "/users/*".
std::string with_templates_as_stars(std::string_view text) {
  std::string out;
  int depth = 0;
  for (const char c : text) {
    if (c == '{' && depth++ == 0) out += '*';
    if (depth == 0 && c != '}') out += c;
    if (c == '}' && depth > 0) --depth;
  }
  return out;
}

std::string decode_unreserved(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && text.size() - i > 2;
    const std::string byte = escape ? decode_escapes(text.substr(i, 3), EscapedSlash::slash) : "";
    if (byte.size() == 1 && is_unreserved(static_cast<unsigned char>(byte[0]))) {
      out += byte;
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string_view path_of_url(std::string_view url) {
  const auto slash = url.find('/', url.find("://") + 3);
  return slash == std::string_view::npos ? "/" : url.substr(slash);
}

// Everything here would make a pattern that no request can ever match.
std::string fault(std::string_view text) {
  const std::string entry = in_quotes(text);
  const auto write = [](std::string_view better) { return ": write " + in_quotes(better); };
  if (text.empty()) return entry + " is no path: write \"/**\" for every path";
  if (text.size() > PathPattern::kMaxBytes) {
    return entry + " is longer than " + std::to_string(PathPattern::kMaxBytes) +
           " bytes: use \"**\"";
  }
  if (text.find("://") != std::string_view::npos) {
    return entry + " has a scheme and a host, which belong in hosts" + write(path_of_url(text));
  }
  if (text.front() != '/') {
    const std::string better = text == "*" || text == "**" ? "/**" : "/" + std::string(text);
    return entry + " does not begin with a slash" + write(better);
  }
  if (const auto end = text.find_first_of("?#"); end != std::string_view::npos) {
    return entry + " has a query or fragment, which paths are matched without" +
           write(text.substr(0, end));
  }
  if (!all_in(kVisible, text)) {
    return entry + " has characters that a path holds only percent-encoded" +
           write(escape_what_a_path_cannot_hold(text));
  }
  if (text.find_first_of("{}") != std::string_view::npos) {
    return entry + " has braces, which mean nothing here" + write(with_templates_as_stars(text));
  }
  if (text.find("***") != std::string_view::npos) {
    return entry + " has three stars in a row: \"*\" is within a segment, \"**\" across segments";
  }
  if (is_ambiguous_path(text)) {
    return entry +
           " has a dot segment, a backslash, %00 or a broken escape: such requests are refused "
           "before "
           "any rule is asked, so write the path without it";
  }
  if (const std::string plain = decode_unreserved(text); plain != text) {
    return entry + " escapes characters that need none" + write(plain);
  }
  return "";
}

}  // namespace

std::variant<PathPattern, std::string> PathPattern::parse(std::string_view text) {
  if (std::string sentence = fault(text); !sentence.empty()) return sentence;
  return PathPattern(std::string(text));
}

PathPattern::PathPattern(std::string text)
    : text_(std::move(text)), as_sent_(tokens_of(with_upper_escapes(text_))) {
  literal_ = std::min(text_.find_first_of("*%"), text_.size());
  const auto decoded = [&](EscapedSlash escaped) {
    // An escaped star is a letter, so it must not be decoded before the stars are read.
    const Tokens& tokens = as_sent_;
    Tokens out;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool escape = tokens[i].kind == Kind::letter && tokens[i].letter == '%';
      if (!escape) {
        out.push_back(tokens[i]);
        continue;
      }
      const std::string bytes{'%', tokens[i + 1].letter, tokens[i + 2].letter};
      out.push_back({Kind::letter, decode_escapes(bytes, escaped).front()});
      i += 2;
    }
    return out;
  };
  letters_ = decoded(EscapedSlash::letter);
  slashes_ = decoded(EscapedSlash::slash);
}

PathPattern::Tokens PathPattern::tokens_of(std::string_view text) {
  Tokens tokens;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '*') {
      tokens.push_back({Kind::letter, text[i]});
    } else if (i + 1 < text.size() && text[i + 1] == '*') {
      tokens.push_back({Kind::star_star, 0});
      ++i;
    } else {
      tokens.push_back({Kind::star, 0});
    }
  }
  return tokens;
}

// A simulation of all states at once. State i: the first i tokens are consumed.
bool PathPattern::run(std::span<const Token> tokens, std::string_view path) {
  const std::size_t last = tokens.size();
  std::array<bool, kMaxBytes + 1> active;
  std::fill_n(active.begin(), last + 1, false);
  std::size_t low = 0;
  std::size_t high = 0;  // every active state lies in [low, high]
  active[0] = true;
  const auto skip_wildcards = [&] {
    for (std::size_t i = low; i <= high; ++i) {
      if (!active[i] || i == last || tokens[i].kind == Kind::letter) continue;
      active[i + 1] = true;
      high = std::max(high, i + 1);
    }
  };
  skip_wildcards();
  const bool ends_open = last > 0 && tokens[last - 1].kind == Kind::star_star;
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (ends_open && high == last && active[last - 1]) return true;  // whatever follows
    const char c = path[at];
    const bool separates = c == '/' || path.substr(at, 3) == "%2F";
    if (high < last) ++high;
    bool any = false;
    for (std::size_t i = high + 1; i-- > low;) {
      const bool came = i > low && active[i - 1] && tokens[i - 1].kind == Kind::letter &&
                        tokens[i - 1].letter == c;
      const bool stayed = active[i] && i < last && tokens[i].kind != Kind::letter &&
                          (tokens[i].kind == Kind::star_star || !separates);
      active[i] = came || stayed;
      any |= active[i];
    }
    if (!any) return false;
    while (!active[low]) ++low;
    skip_wildcards();
  }
  if (high == last && active[last]) return true;
  const bool ends_across = last >= 2 && tokens[last - 1].kind == Kind::star_star &&
                           tokens[last - 2].kind == Kind::letter && tokens[last - 2].letter == '/';
  return ends_across && low <= last - 2 && active[last - 2];
}

bool PathPattern::matches(std::string_view path) const {
  if (is_any()) return true;
  std::string upper;
  if (path.find('%') != std::string_view::npos) {
    upper = with_upper_escapes(path);
    path = upper;
  }
  // Shorter than the literal part: only the bare parent of "/**" can match.
  if (path.size() < literal_) return run(as_sent_, path);
  if (path.substr(0, literal_) != std::string_view(text_).substr(0, literal_)) return false;
  return run(std::span(as_sent_).subspan(literal_), path.substr(literal_));
}

bool PathPattern::run_decoded(const Tokens& tokens, std::string_view form) const {
  // Before the literal part ends they are the same tokens in every reading.
  if (form.size() < literal_) return run(tokens, form);
  if (form.substr(0, literal_) != std::string_view(text_).substr(0, literal_)) return false;
  return run(std::span(tokens).subspan(literal_), form.substr(literal_));
}

bool PathPattern::matches_any_form(std::string_view path) const {
  return matches(path) || matches_any(PathForms(path));
}

bool PathPattern::matches_any(const PathForms& forms) const {
  const auto fits = [&](std::string_view form) {
    return run_decoded(letters_, form) || run_decoded(slashes_, form);
  };
  return std::any_of(forms.all().begin(), forms.all().end(), fits);
}

std::string PathPattern::prefix() const {
  if (is_any()) return "";
  std::string out;
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '%') break;
    if (text_[i] != '*') {
      out += text_[i];
      continue;
    }
    const std::string_view rest = std::string_view(text_).substr(i + 1);
    if (rest == "*" && out.ends_with('/')) out.pop_back();  // the bare parent is meant, too
    if (!out.ends_with('/') || !(rest.empty() || rest.starts_with('/'))) break;
    out += PrefixTree::kAnySegment;
  }
  return out;
}

}  // namespace warder
