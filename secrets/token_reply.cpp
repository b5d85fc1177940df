#include "secrets/token_reply.hpp"

#include <algorithm>
#include <charconv>

#include "base/encoding.hpp"
#include "http/chars.hpp"

namespace warder {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kLeastBehindScheme = 16;

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_' && c != '-') plain += to_lower(c);
  }
  return plain;
}

class Fields {
 public:
  explicit Fields(const std::vector<std::string>& names) {
    for (const std::string& name : names) names_.push_back({plain_name(name), name});
  }
  // nullptr: no token field.
  const std::string* find(std::string_view key) const {
    const std::string plain = plain_name(key);
    for (const auto& [known, name] : names_) {
      if (known == plain) return &name;
    }
    return nullptr;
  }
  // Does a text hold one of them as the key of JSON, or of a form, that is nested in it?
  bool nests(std::string_view text) const {
    const std::string plain = plain_name(text);
    return std::any_of(names_.begin(), names_.end(), [&](const auto& each) {
      for (std::size_t at = plain.find(each.first); at != std::string::npos;
           at = plain.find(each.first, at + 1)) {
        const std::size_t behind = at + each.first.size();
        const bool begins = at == 0 || !is_alnum(plain[at - 1]);
        // Behind a key in JSON, a form, a program or XML; the last two where those are escaped themselves.
        constexpr std::string_view kBehindKey = "\"='>\\%";
        const bool is_key =
            behind < plain.size() && kBehindKey.find(plain[behind]) != std::string_view::npos;
        if (begins && is_key) return true;
      }
      return false;
    });
  }

 private:
  std::vector<std::pair<std::string, std::string>> names_;
};

void append_utf8(WipedBytes& out, unsigned code) {
  const auto put = [&](unsigned byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

std::optional<std::chrono::seconds> seconds_of(std::string_view text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0) return std::nullopt;
  return std::chrono::seconds(std::min<std::int64_t>(seconds, 10LL * 365 * 86'400));
}

// RFC 8259, no more and no less.
class JsonReader {
 public:
  JsonReader(std::string_view text, const Fields& fields) : text_(text), fields_(fields) {}

  bool read() {
    skip_space();
    if (!read_value("", 0)) return false;
    skip_space();
    return at_ == text_.size() || fail("goes on behind its end");
  }
  const std::string& why() const { return why_; }
  TokenReply reply;

 private:
  bool fail(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }
  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // `key` names it; "" where nothing does.
  bool read_value(std::string_view key, int depth) {
    if (depth > kMaxDepth) return fail("is nested too deeply");
    skip_space();
    const std::string* field = key.empty() ? nullptr : fields_.find(key);
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '"') return read_text(key, field);
    if (c == '{' || c == '[') {
      if (field != nullptr) return fail("has a '" + *field + "' that is no text");
      return c == '{' ? read_object(depth) : read_list(key, depth);
    }
    return read_word(key, field);
  }

  bool read_object(int depth) {
    ++at_;
    if (take('}')) return true;
    do {
      skip_space();
      WipedBytes key;
      if (!read_string(key)) return false;
      if (!take(':')) return fail("is no JSON");
      if (!read_value(as_view(key), depth + 1)) return false;
    } while (take(','));
    return take('}') || fail("is no JSON");
  }

  // The name of a list is that of each of its members: {"tokens": [...]} is not, {"token": [...]} was refused.
  bool read_list(std::string_view key, int depth) {
    ++at_;
    if (take(']')) return true;
    do {
      if (!read_value(key, depth + 1)) return false;
    } while (take(','));
    return take(']') || fail("is no JSON");
  }

  bool read_text(std::string_view key, const std::string* field) {
    WipedBytes value;
    const std::size_t begin = at_ + 1;
    if (!read_string(value)) return false;
    if (field != nullptr) {
      if (!value.empty()) reply.tokens.push_back({*field, begin, at_ - 1, std::move(value)});
      return true;
    }
    if (plain_name(key) == "expiresin") note_expiry(as_view(value));
    return !fields_.nests(as_view(value)) || fail("has a token field within a text");
  }

  bool read_word(std::string_view key, const std::string* field) {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (is_alnum(text_[at_]) || text_[at_] == '-' || text_[at_] == '+' || text_[at_] == '.'))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool literal = word == "null" || word == "true" || word == "false";
    if (!literal && !is_number(word)) return fail("is no JSON");
    if (field != nullptr && word != "null") return fail("has a '" + *field + "' that is no text");
    if (plain_name(key) == "expiresin") note_expiry(word);
    return true;
  }

  static bool is_number(std::string_view word) {
    std::size_t at = word.starts_with('-') ? 1 : 0;
    const auto digits = [&] {
      const std::size_t begin = at;
      while (at < word.size() && is_digit(word[at])) ++at;
      return at - begin;
    };
    const std::size_t whole_begin = at;
    const std::size_t whole = digits();
    if (whole == 0 || (whole > 1 && word[whole_begin] == '0')) return false;
    if (at < word.size() && word[at] == '.') {
      ++at;
      if (digits() == 0) return false;
    }
    if (at < word.size() && (word[at] == 'e' || word[at] == 'E')) {
      ++at;
      if (at < word.size() && (word[at] == '+' || word[at] == '-')) ++at;
      if (digits() == 0) return false;
    }
    return at == word.size();
  }

  // A string in quotes, decoded.
  bool read_string(WipedBytes& out) {
    if (at_ == text_.size() || text_[at_] != '"') return fail("is no JSON");
    ++at_;
    out.reserve(64);
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return fail("is no JSON");
      if (c != '\\') {
        out.push_back(c);
      } else if (!read_escape(out)) {
        return fail("is no JSON");
      }
    }
    return fail("is no JSON");
  }

  bool read_escape(WipedBytes& out) {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    constexpr std::string_view kShort = "\"\\/bfnrt";
    constexpr std::string_view kMeans = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = kShort.find(c); i != std::string_view::npos) {
      out.push_back(kMeans[i]);
      return true;
    }
    if (c != 'u') return false;
    auto code = read_hex();
    if (!code) return false;
    if (*code >= 0xd800 && *code < 0xdc00 && text_.substr(at_).starts_with("\\u")) {
      const std::size_t before = at_;
      at_ += 2;
      const auto low = read_hex();
      if (low && *low >= 0xdc00 && *low < 0xe000)
        code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
      else
        at_ = before;
    }
    append_utf8(out, *code);
    return true;
  }

  std::optional<unsigned> read_hex() {
    if (text_.size() - at_ < 4) return std::nullopt;
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      const int digit = hex_value(text_[at_ + static_cast<std::size_t>(i)]);
      if (digit < 0) return std::nullopt;
      code = code * 16 + static_cast<unsigned>(digit);
    }
    at_ += 4;
    return code;
  }

  void note_expiry(std::string_view text) {
    const auto seconds = seconds_of(text);
    if (seconds && (!reply.expires_in || *seconds < *reply.expires_in)) reply.expires_in = seconds;
  }

  const std::string_view text_;
  const Fields& fields_;
  std::size_t at_ = 0;
  std::string why_;
};

// '+' is a space; what is no escape stays.
WipedBytes form_decode(std::string_view text) {
  WipedBytes out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
                        hex_value(text[i + 2]) >= 0;
    if (escape) {
      out.push_back(static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

std::variant<TokenReply, std::string> read_form(std::string_view body, const Fields& fields) {
  TokenReply reply;
  std::size_t at = 0;
  while (at < body.size()) {
    const std::size_t end = std::min(body.find_first_of("&\r\n", at), body.size());
    const std::string_view pair = body.substr(at, end - at);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const WipedBytes key = form_decode(pair.substr(0, equals));
    const std::size_t begin = at + std::min(equals + 1, pair.size());
    WipedBytes value = form_decode(body.substr(begin, end - begin));
    const std::string* field = fields.find(as_view(key));
    // What is no form at all (JSON behind a callback's name) is one key without a value.
    if (field == nullptr && (fields.nests(as_view(key)) || fields.nests(as_view(value))))
      return "has a token field within a text";
    if (field == nullptr && plain_name(as_view(key)) == "expiresin")
      reply.expires_in = seconds_of(as_view(value));
    if (field != nullptr && !value.empty())
      reply.tokens.push_back({*field, begin, end, std::move(value)});
    at = end + 1;
  }
  return reply;
}

}  // namespace

std::variant<TokenReply, std::string> read_token_reply(std::string_view body, TokenReplyForm form,
                                                       const std::vector<std::string>& names) {
  const Fields fields(names);
  if (form == TokenReplyForm::form) return read_form(body, fields);
  JsonReader reader(body, fields);
  if (!reader.read()) return reader.why();
  return std::move(reader.reply);
}

bool names_token(std::string_view text, const std::vector<std::string>& names) {
  return Fields(names).nests(text);
}

std::string_view without_scheme(std::string_view value) {
  const std::size_t space = value.find(' ');
  if (space == std::string_view::npos || space == 0) return value;
  const std::string_view word = value.substr(0, space);
  return std::all_of(word.begin(), word.end(), [](char c) { return is_alnum(c) || c == '-'; })
             ? value.substr(space + 1)
             : value;
}

bool is_token_text(std::string_view value) {
  const std::string_view bare = without_scheme(value);
  if (bare.size() != value.size() && bare.size() < kLeastBehindScheme) return false;
  value = bare;
  while (value.ends_with('=')) value.remove_suffix(1);
  return std::all_of(value.begin(), value.end(), [](char c) {
    return is_alnum(c) || std::string_view("-._~+/|!$*@%").find(c) != std::string_view::npos;
  });
}

std::string with_tokens_replaced(std::string_view body, const TokenReply& reply,
                                 const std::vector<std::string>& instead) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < reply.tokens.size(); ++i) {
    out.append(body, copied, reply.tokens[i].begin - copied).append(instead[i]);
    copied = reply.tokens[i].end;
  }
  return out.append(body, copied);
}

}  // namespace warder
