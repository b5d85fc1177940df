// Values that escapes spell: the mask finds them however they are written.
#include <algorithm>

#include "base/encoding.hpp"
#include "secrets/mask.hpp"
#include "secrets/placeholder.hpp"
#include "secrets/spelling.hpp"
#include "tests/secrets/decoders.hpp"
#include "tests/secrets/seeded_random.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;
using Pieces = std::vector<std::string_view>;
using Holding = Masker::Holding;

namespace {

constexpr std::string_view kValue = "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";
constexpr std::string_view kPlaceholder = "ghp_2222222222222222222222222222222222xx";

std::string masked(const MaskSet& set, const Pieces& pieces, Holding holding = Holding::words) {
  Masker masker(set, holding);
  std::string scratch;
  std::string out;
  for (const std::string_view piece : pieces) out += masker.feed(piece, scratch);
  out += masker.finish(scratch);
  return out;
}

std::string masked(const MaskSet& set, std::string_view text) { return masked(set, Pieces{text}); }

std::string encoding_of(const MaskSet& set, std::string_view text) {
  Masker masker(set, Holding::words);
  std::string scratch;
  masker.feed(text, scratch);
  masker.finish(scratch);
  return masker.counts().size() == 1 ? std::string(masker.counts()[0].encoding) : "";
}

template <class Spell>
std::string spelled(std::string_view text, Spell spell) {
  std::string out;
  for (const char c : text) out += spell(c);
  return out;
}

std::string hex(char c, bool upper = false) {
  std::string text = hex_encode(as_bytes({&c, 1}));
  if (upper)
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char d) { return d >= 'a' ? d - 32 : d; });
  return text;
}
std::string percent(char c) { return "%" + hex(c, true); }
std::string number(char c) {
  return std::to_string(static_cast<int>(static_cast<unsigned char>(c)));
}

std::string named(char c) {
  switch (c) {
    case '_': return "&lowbar;";
    case '+': return "&plus;";
    case '=': return "&equals;";
    case '/': return "&sol;";
    case '.': return "&period;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&apos;";
    default: return std::string(1, c);
  }
}

std::string quoted(char c) {
  return std::string_view("\"/'").find(c) == std::string_view::npos ? std::string(1, c)
                                                                    : std::string("\\") + c;
}

// One of the ways of one manner; `manner` < kManners.
constexpr std::uint32_t kManners = 3;
std::string spell(char c, std::uint32_t manner, SeededRandom& random) {
  const std::string code = hex(c, random.below(2) == 0);
  const std::uint32_t way = random.below(4);
  if (random.below(3) == 0) return std::string(1, c);
  switch (manner) {
    case 0: return way == 0 ? "%25" + code : way == 1 ? "%2525" + code : "%" + code;
    case 1:
      return way == 0   ? quoted(c)
             : way == 1 ? "\\\\u00" + code
             : way == 2 ? "\\x" + code
                        : "\\u00" + code;
    default:
      return way == 0   ? named(c)
             : way == 1 ? "&#x" + code + ";"
             : way == 2 ? "&amp;#" + number(c) + ";"
                        : "&#" + std::string(random.below(4), '0') + number(c) + ";";
  }
}

std::string without_spaces(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

}  // namespace

TEST_CASE("a value is masked in the manner in which it was spelled, wherever reads cut it") {
  const MaskSet set({{kValue, kPlaceholder, "github"}});
  REQUIRE_FALSE(set.changes_length());
  const std::string rest(kValue.substr(4));
  const std::string ph(kPlaceholder.substr(4));
  const auto all = [](auto spell_one) {
    return std::pair{spelled(kValue, spell_one), spelled(kPlaceholder, spell_one)};
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {"ghp%5F" + rest, "ghp%5F" + ph},
      {"ghp%5f" + rest, "ghp%5f" + ph},
      {"ghp%255F" + rest, "ghp%255F" + ph},
      {"ghp%2525255F" + rest, "ghp%2525255F" + ph},
      {"%67hp_" + rest, "%67hp_" + ph},
      {"ghp\\u005f" + rest, "ghp\\u005f" + ph},
      {"\\u0067h\\x70_" + rest, "\\u0067h\\x70_" + ph},
      {"ghp\\\\\\\\u005f" + rest, "ghp\\\\\\\\u005f" + ph},
      {"ghp&#95;" + rest, "ghp&#95;" + ph},
      {"ghp&#0000095;" + rest, "ghp&#0000095;" + ph},
      {"ghp&amp;amp;#x5F;" + rest, "ghp&amp;amp;#x5F;" + ph},
      {"ghp&lowbar;" + rest, "ghp&#00095;" + ph},
      // Within each other.
      {"ghp%26%2395%3B" + rest, "ghp%26%2395%3B" + ph},
      {"ghp\\u0026#95;" + rest, "ghp\\u0026#95;" + ph},
      {"ghp&#37;5F" + rest, "ghp&#37;5F" + ph},
      {"ghp%5Cu005f" + rest, "ghp%5Cu005f" + ph},
      {"ghp&bsol;u005f" + rest, "ghp&bsol;u005f" + ph},
      {"ghp%5%46" + rest, "ghp%5%46" + ph},
      {"gh%70%5F\\u007aQWB&#117;" + rest.substr(5), "gh%70%5F\\u0032222&#050;" + ph.substr(5)},
      // False starts.
      {"ghp%5Fghp%5F" + rest, "ghp%5Fghp%5F" + ph},
      {"%%5%5F ghp%5F" + rest + "%5", "%%5%5F ghp%5F" + ph + "%5"},
      {"&&amp;&#; &#9999999999; \\ \\\" ghp\\u005f" + rest + "\\",
       "&&amp;&#; &#9999999999; \\ \\\" ghp\\u005f" + ph + "\\"},
      {"ghp%5F" + rest + "ghp\\u005f" + rest + std::string(kValue),
       "ghp%5F" + ph + "ghp\\u005f" + ph + std::string(kPlaceholder)},
      all(percent),
      all([](char c) { return "%25" + hex(c); }),
      all([](char c) { return "\\u00" + hex(c); }),
      all([](char c) { return "&#x" + hex(c) + ";"; }),
      all([](char c) {
        return "&#0" + std::string(number(c).size() == 2 ? "0" : "") + number(c) + ";";
      }),
  };
  for (const auto& [text, expected] : cases) {
    CAPTURE(text);
    for (const std::string around : {"", " ", "x", "\"", "="}) {
      at_every_split(around + text + around, [&](const Pieces& pieces) {
        REQUIRE(masked(set, pieces) == around + expected + around);
        REQUIRE(masked(set, pieces, Holding::beginnings) == around + expected + around);
      });
    }
  }
}

TEST_CASE("base64 and hex of the value are found in escapes too") {
  const std::string value = "key-with>>>>marks????and:more";
  const MaskSet plain({{kValue, kPlaceholder, "github"}});
  SeededRandom random(3);
  for (const std::string user : {"", "u", "us", "x-access-token:"}) {
    const std::string text = base64_encode(user + std::string(kValue));
    const std::string out = base64_encode(user + std::string(kPlaceholder));
    CHECK(masked(plain, spelled(text, percent)) == spelled(out, percent));
    CHECK(masked(plain, spelled(text, [](char c) { return "\\u00" + hex(c); })) ==
          spelled(out, [](char c) { return "\\u00" + hex(c); }));
  }
  const std::string in_hex = hex_encode(as_bytes(kValue));
  CHECK(masked(plain, spelled(in_hex, percent)) ==
        spelled(hex_encode(as_bytes(kPlaceholder)), percent));

  const std::string placeholder = make_placeholder(value, random);
  const MaskSet marks({{value, placeholder, "marks"}});
  const std::string text = base64_encode(":" + value + "?.>");
  REQUIRE(text.find_first_of("+/") != std::string::npos);
  const auto in_url = [](char c) { return is_alnum(c) ? std::string(1, c) : percent(c); };
  const auto decoded = [](const std::string& coded) {
    return *base64_decode(decode_percent(coded));
  };
  CHECK(decoded(masked(marks, spelled(text, in_url))).substr(2) ==
        (":" + placeholder + "?.>").substr(2));
}

TEST_CASE(
    "a short escape that cannot spell what stands instead moves its surplus, and the length "
    "stays") {
  const MaskSet set({{"ab-cd-ef-gh-ij-kl-mn-op-qr", "zzzzzzzzzzzzzzzzzzzzzzzzzZ", "dashes"}});
  REQUIRE_FALSE(set.changes_length());
  CHECK(masked(set, "ab&#45;cd-ef-gh-ij-kl-mn-op-qr") == "zzzzzzzzzzzzzzzzzzzzzzzzz&#90;");
  CHECK(masked(set, "ab&#45;cd&#45;ef-gh-ij-kl-mn-op-qr") == "&#000122;zzzzzzzzzzzzzzzzzzzzzzzzZ");
  // The slash of base64, as PHP writes it in JSON: a space takes the place of the backslash.
  const MaskSet slashes({{"key????????????????????????", "PPPPPPPPPPPPPPPPPPPPPPPPPPP", "marks"}});
  const std::string coded = base64_encode("key????????????????????????");
  REQUIRE(coded.find('/') != std::string::npos);
  const std::string text = spelled(coded, quoted);
  const std::string out = masked(slashes, text);
  CHECK(out.size() == text.size());
  CHECK(base64_decode(without_spaces(out)) == "PPPPPPPPPPPPPPPPPPPPPPPPPPP");
}

TEST_CASE(
    "lengths change only where a value has marks whose escapes are short, and then the text is "
    "exact") {
  const auto changes = [](const std::string& mark) {
    const std::string value = "value-with-a-" + mark + "-of-30-bytes---";
    return MaskSet({{value, std::string(value.size(), 'P'), "s"}}).changes_length();
  };
  for (const std::string mark : {"\"", "'", "/", "<", ">", "&", "\\"}) CHECK(changes(mark));
  for (const std::string mark : {"_", "-", ".", "~", "+", "=", ":", ";", "#"})
    CHECK_FALSE(changes(mark));
  const MaskSet set({{"value\"with<marks/of-28-bytes", "PPPPPPPPPPPPPPPPPPPPPPPPPPPP", "s"}});
  CHECK(masked(set, R"({"t":"value\"with<marks\/of-28-bytes"})") ==
        R"({"t":"PPPPPPPPPPPPPPPPPPPPPPPPPPPP"})");
  CHECK(masked(set, "<b>value&quot;with&lt;marks/of-28-bytes</b>") ==
        "<b>PPPPP&#080;PPPPPPPPPPPPPPPPPPPPPP</b>");
}

TEST_CASE(
    "a value that holds what could be an escape is found in the forms that have always been "
    "listed") {
  for (const std::string value :
       {"p%41ss&lt;w\\u0041rd-and-more", "C:\\dir\\x41\\\"quoted\"", "100%25&amp;;#38;--"}) {
    const std::string ph(value.size(), 'P');
    const MaskSet set({{value, ph, "odd"}});
    const auto json = [](char c) {
      return (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
    };
    const auto url = [](char c) {
      return is_alnum(c) || c == '-' ? std::string(1, c) : percent(c);
    };
    CHECK(masked(set, "=" + value + "=") == "=" + ph + "=");
    CHECK_FALSE(shows(masked(set, "\"" + spelled(value, json) + "\""), value));
    CHECK_FALSE(shows(masked(set, "=" + spelled(value, url) + "&"), value));
  }
}

TEST_CASE("receipts name how the value was spelled") {
  const MaskSet set({{kValue, kPlaceholder, "github"}});
  const std::string rest(kValue.substr(4));
  CHECK(encoding_of(set, kValue) == "raw");
  CHECK(encoding_of(set, "ghp%5F" + rest) == "percent");
  CHECK(encoding_of(set, "ghp\\u005f" + rest) == "json");
  CHECK(encoding_of(set, "ghp&#95;" + rest) == "html");
  CHECK(encoding_of(set, "ghp&#95;" + rest.substr(0, 35) + percent(rest[35])) == "html");
  CHECK(encoding_of(set, spelled(base64_encode(kValue), percent)) == "base64");
  CHECK(encoding_of(set, spelled(hex_encode(as_bytes(kValue)), percent)) == "hex");
}

TEST_CASE("fields are masked in any spelling") {
  const MaskSet set({{kValue, kPlaceholder, "github"}});
  std::string location =
      "/cb?key=ghp%5F" + std::string(kValue.substr(4)) + "&x=" + std::string(kValue);
  CHECK(set.mask(location) == 2);
  CHECK(location ==
        "/cb?key=ghp%5F" + std::string(kPlaceholder.substr(4)) + "&x=" + std::string(kPlaceholder));
}

TEST_CASE(
    "from an origin with a grant only escapes that have begun, and beginnings of the value, are "
    "held") {
  const MaskSet set({{kValue, kPlaceholder, "github"}});
  const auto held = [&](std::string_view text) {
    Masker masker(set, Holding::beginnings);
    std::string scratch;
    masker.feed(text, scratch);
    return masker.held();
  };
  CHECK(held("say %20") == 0);
  CHECK(held("say \\n ") == 0);
  CHECK(held("say \\\"") == 0);
  CHECK(held("say &amp; ") == 0);
  CHECK(held("say &nbsp;") == 0);
  CHECK(held("say %2") == 2);
  CHECK(held("say ghp%5F") == 6);
  CHECK(held("say ghp%5") == 5);
  CHECK(held("say ghq%5F") == 0);
  CHECK(held("say &#0000") == 6);
  CHECK(held("say &#" + std::string(100, '0')) == 0);
  CHECK(held("say &" + std::string(100, 'a')) == 0);
  CHECK(held("say %" + std::string(100, '%')) < kMaxUnit);
  CHECK(held("say " + std::string(100, '\\')) <= kMaxUnit);
}

TEST_CASE("in a word nothing leaves sooner or later for being the beginning of a spelled value") {
  const MaskSet right({{kValue, kPlaceholder, "github"}});
  const MaskSet other({{"ghq_" + std::string(36, 'q'), kPlaceholder, "other"}});
  SeededRandom random(6);
  for (std::uint32_t manner = 0; manner < kManners; ++manner) {
    for (int round = 0; round < 60; ++round) {
      const std::string text =
          "say: " + spelled(kValue.substr(0, 39), [&](char c) { return spell(c, manner, random); });
      Masker one(right, Holding::words);
      Masker two(other, Holding::words);
      std::string scratch;
      for (std::size_t at = 0; at < text.size(); ++at) {
        const std::string first(one.feed(std::string_view(text).substr(at, 1), scratch));
        REQUIRE(two.feed(std::string_view(text).substr(at, 1), scratch) == first);
        REQUIRE((at < 5 || first.empty()));
      }
    }
  }
  // Bounded all the same.
  for (const std::string part : {"a", "%41", "%", "&", "\\", "&#65;", "%25252541"}) {
    Masker masker(right, Holding::words);
    std::string scratch;
    std::string text;
    while (text.size() < 20'000) text += part;
    masker.feed(text, scratch);
    CAPTURE(part);
    CHECK(masker.held() <= (part == "a" ? 79 : 80 * kMaxUnit));
    masker.feed(" ", scratch);
    CHECK(masker.held() == 0);
  }
}

TEST_CASE(
    "property: no decoder finds a value in what leaves, all else is equal, and lengths stay") {
  constexpr std::string_view kAlphabets[] = {
      kAlnum,      "abcXYZ019+/=",    "abcdefXYZ0189_-.~", "0123456789abcdef",
      "aZ5\"'/<>", "aZ5:;#!*()[] ,$@"};
  constexpr std::string_view kEnds = " \n{}<>,=|";
  int spellings = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SeededRandom random(seed);
    CAPTURE(seed);
    std::string value =
        random.text(12 + random.below(50), kAlphabets[seed % std::size(kAlphabets)]);
    value.front() = value.back() = 'a';
    const std::string placeholder = make_placeholder(value, random);
    const MaskSet set({{value, placeholder, "s"}});
    const bool strict = !set.changes_length();
    const std::uint32_t manner = random.below(kManners);
    std::string text;
    std::vector<std::string> fillers;
    for (std::uint32_t i = 0, n = 1 + random.below(3); i < n; ++i) {
      fillers.push_back(random.text(random.below(30), "ab5 %&\\;#u00\n{") + kEnds[random.below(9)]);
      const bool coded = random.below(3) == 0;
      const std::string before = random.text(random.below(9), kAlnum);
      const std::string form = coded ? base64_encode(before + value + "z") : value;
      text += fillers.back() + spelled(form, [&](char c) { return spell(c, manner, random); });
      ++spellings;
    }
    fillers.push_back(kEnds[random.below(9)] + random.text(random.below(30), "ab5 %&\\;#u00\n{"));
    text += fillers.back();
    const std::string out = masked(set, text);
    CAPTURE(value, placeholder, text, out);
    REQUIRE_FALSE(shows(out, value));
    for (std::size_t shift = 0; shift < 3; ++shift) {  // what of base64 depends on the value alone
      const std::string coded = base64_encode(std::string(shift, '\0') + value);
      const std::size_t begin = shift == 0 ? 0 : shift + 1;
      const std::size_t whole = (shift + value.size()) * 8 / 6;
      REQUIRE_FALSE(shows(out, coded.substr(begin, whole - begin)));
    }
    if (strict) REQUIRE(out.size() == text.size());
    // What stood around is there, in order.
    std::size_t at = 0;
    for (const std::string& filler : fillers) {
      at = out.find(filler, at);
      REQUIRE(at != std::string::npos);
      at += filler.size();
    }
    REQUIRE(at == out.size());
    for (int round = 0; round < 20; ++round) {
      Masker masker(set, round % 2 ? Holding::words : Holding::beginnings);
      std::string scratch;
      std::string pieces;
      std::size_t fed = 0;
      while (fed < text.size()) {
        const std::size_t size = 1 + random.below(round < 10 ? 3 : 40);
        pieces += masker.feed(std::string_view(text).substr(fed, size), scratch);
        fed = std::min(text.size(), fed + size);
        REQUIRE(masker.held() == (strict ? fed - pieces.size() : masker.held()));
      }
      pieces += masker.finish(scratch);
      REQUIRE(pieces == out);
    }
  }
  REQUIRE(spellings > 700);
}
