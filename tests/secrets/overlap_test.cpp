// Values that share bytes in a text, as they stand or encoded: of none of them a byte may be seen.
#include <algorithm>

#include "base/encoding.hpp"
#include "secrets/encodings.hpp"
#include "secrets/mask.hpp"
#include "tests/secrets/mask_oracle.hpp"
#include "tests/secrets/seeded_random.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;
using Pieces = std::vector<std::string_view>;
using Holding = Masker::Holding;

namespace {

std::string masked(const MaskSet& set, const Pieces& pieces, Holding holding) {
  Masker masker(set, holding);
  std::string scratch;
  std::string out;
  std::size_t fed = 0;
  for (const std::string_view piece : pieces) {
    out += masker.feed(piece, scratch);
    fed += piece.size();
    if (!set.changes_length()) REQUIRE(out.size() + masker.held() == fed);
  }
  out += masker.finish(scratch);
  return out;
}

void check_at_every_split(const MaskSet& set, std::string_view text, const std::string& expected) {
  CAPTURE(text);
  at_every_split(text, [&](const Pieces& pieces) {
    REQUIRE(masked(set, pieces, Holding::beginnings) == expected);
    REQUIRE(masked(set, pieces, Holding::words) == expected);
  });
  std::string whole(text);
  set.mask(whole);
  REQUIRE(whole == expected);
}

MaskSet set_of(const MaskOracle::Secrets& secrets) {
  std::vector<MaskSet::Entry> entries;
  for (const MaskOracle::Secret& secret : secrets)
    entries.push_back({secret.value, secret.placeholder, "s"});
  return MaskSet(entries);
}

std::string spelled(std::string_view text, SeededRandom& random) {
  std::string out;
  for (const char c : text) {
    const std::string hex = hex_encode(as_bytes({&c, 1}));
    switch (random.below(12)) {
      case 0: out += "%" + hex; break;
      case 1: out += "%25" + hex; break;
      case 2: out += "\\u00" + hex; break;
      case 3: out += "&#x" + hex + ";"; break;
      default: out += c;
    }
  }
  return out;
}

// Values made of each other: slices of one text that begin and end within each other, or within another's encoding.
MaskOracle::Secrets random_secrets(SeededRandom& random, const std::string& common) {
  MaskOracle::Secrets secrets;
  for (std::uint32_t i = 0, n = 2 + random.below(4); i < n; ++i) {
    std::string value = common.substr(random.below(28), 8 + random.below(12));
    if (i > 0 && random.below(3) == 0) {
      const std::string& other = secrets[random.below(i)].value;
      const std::string form =
          random.below(2) ? base64_encode("x" + other) : hex_encode(as_bytes(other));
      value = form.substr(form.size() - 5) + value;
    }
    const auto same = [&](const MaskOracle::Secret& secret) { return secret.value == value; };
    if (std::any_of(secrets.begin(), secrets.end(), same)) continue;
    const std::string placeholder = random.text(value.size(), "PQRSTUVWXYZ_");
    secrets.push_back({value, placeholder});
  }
  return secrets;
}

std::string random_text(SeededRandom& random, const std::string& common,
                        const MaskOracle::Secrets& secrets) {
  std::string text;
  while (text.size() < 120) {
    if (random.below(4) == 0) {
      const std::string part = common.substr(random.below(10), 20 + random.below(20));
      text += random.below(2) ? part : spelled(part, random);
    }
    const std::string& value =
        secrets[random.below(static_cast<std::uint32_t>(secrets.size()))].value;
    const std::string before = random.text(random.below(3), "xy");
    const std::string form = random.below(4) == 0   ? base64_encode(before + value)
                             : random.below(4) == 0 ? hex_encode(as_bytes(value))
                                                    : value;
    // Where the text so far ends as this begins, they share that.
    std::size_t shared = random.below(2) ? std::min(form.size(), text.size()) : 0;
    while (!text.ends_with(std::string_view(form).substr(0, shared))) --shared;
    text += random.below(3) ? form.substr(shared) : spelled(form.substr(shared), random);
    if (random.below(4) == 0) text += random.text(1 + random.below(3), " %\\&;x");
  }
  return text;
}

}  // namespace

TEST_CASE(
    "of two values that overlap neither is seen: the first becomes its placeholder, the rest "
    "stars") {
  const MaskSet set({{"abcdefgh", "PPPPPPPP", "one"}, {"efghijkl", "QQQQQQQQ", "two"}});
  // Alone, and side by side.
  check_at_every_split(set, "abcdefgh efghijkl", "PPPPPPPP QQQQQQQQ");
  check_at_every_split(set, "abcdefghefghijklabcdefgh", "PPPPPPPPQQQQQQQQPPPPPPPP");
  check_at_every_split(set, ".abcdefghijkl.", ".PPPPPPPP****.");
  check_at_every_split(set, "abcdefghijk.", "PPPPPPPPijk.");
  check_at_every_split(set, "abcdefghabcdefghijklijkl", "PPPPPPPPPPPPPPPP****ijkl");
  // In escapes: all bytes of an escape.
  check_at_every_split(set, "abcdefghij%6Bl.", "PPPPPPPP******.");
  check_at_every_split(set, "abcd\\u0065fghijkl.", "PPPP\\u0050PPP****.");
  check_at_every_split(set, "abcdefg&#104;i%6Akl", "PPPPPPP&#080;******");
}

TEST_CASE("a value that overlaps itself, one that holds others, and a chain of them") {
  const MaskSet same({{"abababab", "PPPPPPPP", "one"}});
  check_at_every_split(same, "abababababab.", "PPPPPPPP****.");
  check_at_every_split(same, "ababababbabababab", "PPPPPPPPbPPPPPPPP");
  const MaskSet chain({{"abcdefgh", "PPPPPPPP", "one"},
                       {"ghijklmn", "QQQQQQQQ", "two"},
                       {"mnopqrst", "RRRRRRRR", "three"},
                       {"cdefghijk", "SSSSSSSSS", "four"}});
  check_at_every_split(chain, "abcdefghijklmnopqrst!", "PPPPPPPP************!");
  check_at_every_split(chain, "cdefghijklmnopqrs", "SSSSSSSSS***opqrs");
  const MaskSet inside({{"0123456789", "PPPPPPPPPP", "outer"},
                        {"23456789ab", "QQQQQQQQQQ", "inner"},
                        {"12345678", "RRRRRRRR", "within"}});
  check_at_every_split(inside, "0123456789ab", "PPPPPPPPPP**");
  check_at_every_split(inside, "123456789ab", "RRRRRRRR***");
}

TEST_CASE("a value that begins within the encoding of another") {
  const std::string value = "the-first-value";
  const std::string coded = base64_encode(value);
  const std::string other = coded.substr(12) + "=and-more";
  const std::string stands = "PPPPPPPPPPPPPPP";
  const MaskSet set({{value, stands, "one"}, {other, std::string(other.size(), 'Q'), "two"}});
  check_at_every_split(set, "<" + coded + "=and-more>", "<" + base64_encode(stands) + "*********>");
  check_at_every_split(set, coded + "=and-less", base64_encode(stands) + "=and-less");
}

TEST_CASE(
    "what leaves early is the placeholder, and of the rest only what may be another value waits") {
  const MaskSet set({{"abcdefgh", "PPPPPPPP", "one"}, {"efghijkl", "QQQQQQQQ", "two"}});
  Masker masker(set, Holding::beginnings);
  std::string scratch;
  CHECK(masker.feed("abcdefgh", scratch) == "PPPPPPPP");
  CHECK(masker.held() == 0);
  CHECK(masker.feed("ijk", scratch).empty());
  CHECK(masker.held() == 3);
  CHECK(masker.feed("x", scratch) == "ijkx");
  CHECK(masker.feed("abcdefghij", scratch) == "PPPPPPPP");
  CHECK(masker.feed("%6b", scratch).empty());
  CHECK(masker.held() == 5);
  CHECK(masker.feed("l", scratch) == "******");
  CHECK(masker.feed("abcdefghi", scratch) == "PPPPPPPP");
  CHECK(masker.finish(scratch) == "i");
  REQUIRE(masker.counts().size() == 1);  // what was replaced as a whole
  CHECK(masker.counts()[0].count == 3);
}

TEST_CASE("a value that has begun in one that is replaced is masked by the next set too") {
  const MaskSet set({{"abcdefgh", "PPPPPPPP", "one"}, {"efghijkl", "QQQQQQQQ", "two"}});
  const MaskSet next({{"abcdefgh", "RRRRRRRR", "one"}, {"fghijklm", "SSSSSSSS", "new"}});
  Masker masker(set, Holding::beginnings);
  std::string scratch;
  CHECK(masker.feed("abcdefghi", scratch) == "PPPPPPPP");
  masker.go_on_with(next);
  CHECK(masker.feed("jkl", scratch).empty());
  CHECK(masker.feed("m.abcdefgh", scratch) == "*****.RRRRRRRR");
  CHECK(masker.finish(scratch).empty());
}

TEST_CASE("property: values that overlap come out as the oracle has it, wherever they are cut") {
  int overlaps = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SeededRandom random(seed);
    const std::string common = random.text(40, random.below(3) == 0 ? "ab" : "abcdef0123");
    const MaskOracle::Secrets secrets = random_secrets(random, common);
    const MaskSet set = set_of(secrets);
    REQUIRE_FALSE(set.changes_length());
    const std::string text = random_text(random, common, secrets);
    const std::string expected = MaskOracle(secrets).masked(text);
    CAPTURE(seed, text, expected);
    check_at_every_split(set, text, expected);
    overlaps += expected.find("**") != std::string::npos;
    for (const MaskOracle::Secret& secret : secrets) {
      for (const EncodedForm& form : encoded_forms(secret.value, secret.placeholder)) {
        REQUIRE(expected.find(form.pattern) == std::string::npos);
      }
    }
  }
  CHECK(overlaps > 200);
}

TEST_CASE("long values that overlap at every byte cost no more than reading them") {
  const MaskSet set({{std::string(16'000, 'a') + "b", std::string(16'001, 'P'), "long"},
                     {std::string(8, 'a'), "QQQQQQQQ", "short"}});
  const std::string text = std::string(1 << 20, 'a') + "b" + std::string(20'000, 'a') + ".";
  Masker masker(set, Holding::beginnings);
  std::string scratch;
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += 4096) {
    out += masker.feed(std::string_view(text).substr(at, 4096), scratch);
  }
  out += masker.finish(scratch);
  const std::string rest((1 << 20) + 1 - 8, '*');
  CHECK(out == "QQQQQQQQ" + rest + "QQQQQQQQ" + std::string(20'000 - 8, '*') + ".");
}
