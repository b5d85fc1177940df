#include "secrets/mask.hpp"

#include <algorithm>

#include "base/encoding.hpp"
#include "secrets/encodings.hpp"
#include "secrets/placeholder.hpp"
#include "tests/secrets/seeded_random.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using warder::test::at_every_split;
using warder::test::kAlnum;
using warder::test::SeededRandom;

namespace {

using Pieces = std::vector<std::string_view>;

std::string masked(const MaskSet& set, const Pieces& pieces) {
  Masker masker(set, Masker::Holding::words);
  std::string scratch;
  std::string out;
  for (const std::string_view piece : pieces) out += masker.feed(piece, scratch);
  out += masker.finish(scratch);
  return out;
}

std::string masked(const MaskSet& set, std::string_view text) { return masked(set, Pieces{text}); }

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' ? c - 32 : c; });
  return text;
}

constexpr std::string_view kValue = "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";
constexpr std::string_view kPlaceholder = "ghp_2222222222222222222222222222222222xx";

}  // namespace

TEST_CASE("text without a secret passes as it is, without a copy") {
  const MaskSet set({{kValue, kPlaceholder, "github"}});
  Masker masker(set, Masker::Holding::words);
  std::string scratch;
  const std::string_view event = "data: {\"delta\": \"ghp\"}\n\n";
  const std::string_view out = masker.feed(event, scratch);
  CHECK(out.data() == event.data());
  CHECK(out == event);
  CHECK(masker.held() == 0);
  CHECK(masker.finish(scratch).empty());
}

TEST_CASE("a session without secrets masks nothing") {
  const MaskSet set({});
  CHECK(set.empty());
  CHECK_FALSE(set.changes_length());
  CHECK(masked(set, "anything") == "anything");
}

TEST_CASE("the end of a word is held, and it leaves when it cannot become the value") {
  const MaskSet set({{kValue, kPlaceholder, "github"}});
  Masker masker(set, Masker::Holding::words);
  std::string scratch;
  CHECK(masker.feed("token: ghp_zQ", scratch) == "token: ");
  CHECK(masker.held() == 6);
  CHECK(masker.feed("W", scratch).empty());
  CHECK(masker.feed("x and on.", scratch) == "ghp_zQWx and on.");
  CHECK(masker.held() == 0);
  CHECK(masker.feed("ghp_z", scratch).empty());
  CHECK(masker.finish(scratch) == "ghp_z");
}

TEST_CASE("BR-066: the value is masked wherever reads cut it, and with its last byte") {
  const std::string other = std::string("tail_of_a_key_") + std::string(kValue.substr(0, 12));
  const std::string other_placeholder(other.size(), 'O');
  const MaskSet set({{kValue, kPlaceholder, "github"}, {other, other_placeholder, "other"}});
  CHECK_FALSE(set.changes_length());
  const std::string value(kValue);
  // One secret ends with a beginning of another; values side by side; false starts.
  const std::string text =
      value + value + "ghp_ghp_" + value + "|" + other + value.substr(12) + other + value;
  const std::string ph(kPlaceholder);
  const std::string expected = ph + ph + "ghp_ghp_" + ph + "|" + other_placeholder +
                               std::string(value.size() - 12, '*') + other_placeholder + ph;
  at_every_split(text, [&](const Pieces& pieces) { REQUIRE(masked(set, pieces) == expected); });

  Masker masker(set, Masker::Holding::words);
  std::string scratch;
  masker.feed(value.substr(0, 20), scratch);
  CHECK(masker.feed(value.substr(20), scratch) == kPlaceholder);
  CHECK(masker.held() == 0);
  REQUIRE(masker.counts().size() == 1);
  CHECK(masker.counts()[0].secret == "github");
  CHECK(masker.counts()[0].encoding == "raw");
  CHECK(masker.counts()[0].count == 1);
}

TEST_CASE("BR-065: every listed encoding is masked, and decodes to the placeholder") {
  const std::string value = "key\"with\\odd/bytes+and=more";
  const std::string ph = "ABCDEFGHIJKLMNOPQRSTUVWXYZa";
  REQUIRE(ph.size() == value.size());
  const MaskSet set({{value, ph, "odd"}});
  CHECK(masked(set, "Bearer " + value) == "Bearer " + ph);
  CHECK(masked(set, base64_encode(value)) == base64_encode(ph));
  CHECK(masked(set, hex_encode(as_bytes(value))) == hex_encode(as_bytes(ph)));
  CHECK(masked(set, upper(hex_encode(as_bytes(value)))) == upper(hex_encode(as_bytes(ph))));
  CHECK(masked(set, R"({"t":"key\"with\\odd/bytes+and=more"})") == "{\"t\":\"" + ph + "\"}");
  CHECK(masked(set, R"({"t":"key\"with\\odd\/bytes+and=more"})") == "{\"t\":\"" + ph + "\"}");
  // Five bytes are escaped: of the placeholder too, so that lengths stay.
  const std::string escaped_ph = "ABCDEFGHIJKLMNOPQRSTUV%57%58%59%5A%61";
  CHECK(masked(set, "?k=key%22with%5Codd%2Fbytes%2Band%3Dmore&x") == "?k=" + escaped_ph + "&x");
  CHECK(masked(set, "?k=key%22with%5codd%2fbytes%2band%3dmore&x") ==
        "?k=ABCDEFGHIJKLMNOPQRSTUV%57%58%59%5a%61&x");
}

TEST_CASE("BR-050, BR-065: an echoed Basic pair comes back as the pair that the sandbox sent") {
  const MaskSet set({{kValue, kPlaceholder, "github"}});
  const std::string value(kValue);
  const std::string ph(kPlaceholder);
  // 15 and 0 bytes before the value: it begins a base64 group.
  for (const auto& [before, after] : {std::pair<std::string, std::string>{"x-access-token:", ""},
                                      {"", ":"},
                                      {"", ":x-oauth-basic"},
                                      {"abc", "de"},
                                      {"abc", "def"}}) {
    for (const auto alphabet : {Base64Alphabet::standard, Base64Alphabet::url}) {
      for (const auto padding : {Base64Padding::yes, Base64Padding::no}) {
        CHECK(masked(set,
                     "Basic " + base64_encode(before + value + after, alphabet, padding) + "\n") ==
              "Basic " + base64_encode(before + ph + after, alphabet, padding) + "\n");
      }
    }
  }
  // With the same prefix in value and placeholder every alignment is exact.
  CHECK(masked(set, base64_encode("u:" + value)) == base64_encode("u:" + ph));
  CHECK(masked(set, base64_encode("u" + value + "\xff\xff")) ==
        base64_encode("u" + ph + "\xff\xff"));
}

TEST_CASE("base64 that breaks off or wraps in the value's last character does not show the rest") {
  const MaskSet set({{kValue, kPlaceholder, "github"}});
  for (const std::string before : {"", "pre", "ab", "a"}) {
    const std::string text = base64_encode(before + std::string(kValue));
    const std::string expected = base64_encode(before + std::string(kPlaceholder));
    const std::size_t whole =
        (before.size() + kValue.size()) * 8 / 6;  // characters of the value alone
    CHECK(masked(set, text.substr(0, whole) + "\r\n" + text.substr(whole)) ==
          expected.substr(0, whole) + "\r\n" + text.substr(whole));
  }
}

TEST_CASE(
    "a value shorter than its placeholder is masked too, and base64 around it still decodes") {
  SeededRandom random(4);
  for (std::size_t size = kMinSecretBytes; size < 22; ++size) {
    const std::string value = random.text(size, kAlnum);
    const std::string ph = make_placeholder(value, random);
    const MaskSet set({{value, ph, "short"}});
    CHECK(set.changes_length());
    for (const std::string after : {"", "a", "ab", "abc"}) {
      CAPTURE(value, ph, after);
      CHECK(masked(set, "<" + value + after + ">") == "<" + ph + after + ">");
      CHECK(masked(set, base64_encode("pre" + value + after)) == base64_encode("pre" + ph + after));
    }
  }
}

TEST_CASE("a placeholder in another base64 phase than its value moves nothing that follows") {
  const std::string value = "0123456789abcdef";
  const MaskSet set({{value, "PLACEHOLDER-OF-20-CH", "odd"}});
  CHECK(masked(set, base64_encode("pre" + value + "post")) ==
        base64_encode("prePLACEHOLDER-OF-20-CH..post"));
}

TEST_CASE("of two secrets of which one begins the other, the longer is masked when it is there") {
  const std::string small = "shared-begin-1";
  const std::string large = "shared-begin-1-and-more";
  const std::vector<MaskSet::Entry> entries{{small, "SSSSSSSSSSSSSS", "small"},
                                            {large, "LLLLLLLLLLLLLLLLLLLLLLL", "large"}};
  for (const MaskSet& set : {MaskSet(entries), MaskSet({entries[1], entries[0]})}) {
    at_every_split(small + " " + large + " " + large.substr(0, 18), [&](const Pieces& pieces) {
      REQUIRE(masked(set, pieces) == "SSSSSSSSSSSSSS LLLLLLLLLLLLLLLLLLLLLLL SSSSSSSSSSSSSS-and");
    });
  }
}

TEST_CASE("a placeholder that is another secret's value is not masked again") {
  const MaskSet set(
      {{"value-of-a-1234", "value-of-b-1234", "a"}, {"value-of-b-1234", "PLACEHOLDER-OF-B", "b"}});
  CHECK(masked(set, "value-of-a-1234") == "value-of-b-1234");
}

TEST_CASE("header values are masked whole") {
  const MaskSet set({{kValue, kPlaceholder, "github"}});
  std::string location =
      "https://api.test/cb?key=" + std::string(kValue) + "&again=" + std::string(kValue);
  CHECK(set.mask(location) == 2);
  CHECK(location == "https://api.test/cb?key=" + std::string(kPlaceholder) +
                        "&again=" + std::string(kPlaceholder));
  std::string plain = "text/plain";
  CHECK(set.mask(plain) == 0);
  CHECK(plain == "text/plain");
}

TEST_CASE("BR-070: an 8-byte value changes only the texts that hold it") {
  const std::string value = "trueuser";
  const MaskSet set({{value, "PPPPPPPPPPPPPPPPPPPPPPP", "tiny"}});
  SeededRandom random(70);
  std::string text = "The user said true; trueuse aaaa {\"user\":true,\"1\":\"\"} eruser trueuse";
  CHECK(masked(set, text) == text);
  text = random.bytes(1 << 20);
  CHECK(masked(set, text) == text);
  CHECK(masked(set, "a trueuser!") == "a PPPPPPPPPPPPPPPPPPPPPPP!");
}

TEST_CASE("a value next to a slice of itself does not come out whole") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SeededRandom random(seed);
    const std::string value = (seed % 2 ? "ghp_" : "") + random.text(8 + random.below(40), kAlnum);
    const MaskSet set({{value, make_placeholder(value, random), "s"}});
    for (std::size_t cut = 1; cut < value.size(); ++cut) {
      CAPTURE(value, cut);
      const std::string after = masked(set, value + value.substr(cut));
      const std::string before = masked(set, value.substr(0, cut) + value);
      REQUIRE(after.find(value) == std::string::npos);
      REQUIRE(before.find(value) == std::string::npos);
      std::string coded = masked(set, base64_encode(value + value.substr(cut)));
      std::replace(coded.begin(), coded.end(), '*', 'A');  // a star is no base64, and tells nothing
      const auto decoded = base64_decode(coded);
      REQUIRE(decoded);
      REQUIRE(decoded->find(value) == std::string::npos);
    }
  }
}

TEST_CASE("no secret has more forms than the limit, nor a form short enough to occur by chance") {
  SeededRandom random(5);
  for (std::size_t size = kMinSecretBytes; size < 100; ++size) {
    const std::string value = size % 2 ? random.bytes(size) : random.text(size, kAlnum);
    const auto forms = encoded_forms(value, make_placeholder(value, random));
    CHECK(forms.size() <= kMaxForms);
    for (const EncodedForm& form : forms) CHECK(form.pattern.size() >= 8);
  }
}

namespace {

struct Secret {
  std::string value;
  std::string placeholder;
};

// Base64 of before + value + after, and what it must come back as: the same of the placeholder, but
// for a first character that also holds bits of the byte before.
std::pair<std::string, std::string> in_base64(const Secret& secret, const std::string& before,
                                              const std::string& after, Base64Alphabet alphabet,
                                              Base64Padding padding) {
  std::string text = base64_encode(before + secret.value + after, alphabet, padding);
  std::string expected = base64_encode(before + secret.placeholder + after, alphabet, padding);
  if (before.size() % 3 != 0) {
    const std::size_t shared = before.size() * 8 / 6;
    expected[shared] = text[shared];
  }
  return {text, expected};
}

std::pair<std::string, std::string> in_some_form(const Secret& secret, SeededRandom& random) {
  const auto alphabet = random.below(2) ? Base64Alphabet::url : Base64Alphabet::standard;
  const auto padding = random.below(2) ? Base64Padding::yes : Base64Padding::no;
  switch (random.below(4)) {
    case 0: return {secret.value, secret.placeholder};
    case 1: return {hex_encode(as_bytes(secret.value)), hex_encode(as_bytes(secret.placeholder))};
    default:
      return in_base64(secret, random.bytes(random.below(9)), random.bytes(random.below(9)),
                       alphabet, padding);
  }
}

// What is held must be the beginning of some form.
bool begins_a_form(std::string_view held, const std::vector<Secret>& secrets) {
  for (const Secret& secret : secrets) {
    for (const EncodedForm& form : encoded_forms(secret.value, secret.placeholder)) {
      if (form.pattern.starts_with(held) || held.starts_with(form.pattern)) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("what is held does not tell whether it begins a value") {
  const MaskSet set({{kValue, kPlaceholder, "github"}});
  const MaskSet of_another({{"ghp_" + std::string(36, 'q'), kPlaceholder, "other"}});
  std::string scratch;
  for (std::size_t n = 1; n < kValue.size(); ++n) {
    const std::string right = "say: " + std::string(kValue.substr(0, n));
    std::string wrong = right;
    wrong.back() = wrong.back() == 'Q' ? 'R' : 'Q';
    const auto words = Masker::Holding::words;
    Masker one(set, words), two(set, words), three(of_another, words);
    CAPTURE(right, wrong);
    CHECK(one.feed(right, scratch) == "say: ");
    CHECK(two.feed(wrong, scratch) == "say: ");
    CHECK(three.feed(right, scratch) == "say: ");
  }
  // Also for values with marks and spaces in them, and across reads.
  const MaskSet phrase({{"correct horse.battery", "PPPPPPPPPPPPPPPPPPPPP", "phrase"}});
  for (const std::string_view text :
       {"a\ncorrect horse.", "a\ncorrect horse;", "a\nwrong words yes"}) {
    Masker masker(phrase, Masker::Holding::words);
    CHECK(masker.feed(text.substr(0, 5), scratch) == "a\n");
    CHECK(masker.feed(text.substr(5), scratch).empty());
    CHECK(masker.feed("\n", scratch) == std::string(text.substr(2)) + "\n");
  }
}

TEST_CASE(
    "no more is held than the longest form less a byte, and nothing behind a space or a line's "
    "end") {
  const MaskSet set({{kValue, kPlaceholder, "github"}});
  Masker masker(set, Masker::Holding::words);
  std::string scratch;
  masker.feed(std::string(100'000, 'a'), scratch);
  CHECK(masker.held() < 3 * kValue.size());
  for (const std::string_view end : {" ", "\n", "}", ".", "\"", "\r\n", ">", ","}) {
    masker.feed("ghp_zQ", scratch);
    masker.feed(end, scratch);
    CHECK(masker.held() == 0);
  }
}

TEST_CASE(
    "property: secrets never come out in a listed form, all else is equal, and of beginnings "
    "nothing is held in vain") {
  constexpr std::string_view kNeutral = " \n{}\",:<>~!.;";
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SeededRandom random(seed);
    std::vector<Secret> secrets;
    std::vector<MaskSet::Entry> entries;
    secrets.reserve(3);
    for (std::uint32_t i = 0, n = 1 + random.below(3); i < n; ++i) {
      const std::size_t size = kMinSecretBytes + random.below(60);
      std::string value = random.below(3) == 0 ? random.bytes(size) : random.text(size, kAlnum);
      std::string placeholder = make_placeholder(value, random);
      secrets.push_back({std::move(value), std::move(placeholder)});
      entries.push_back({secrets.back().value, secrets.back().placeholder, std::to_string(i)});
    }
    const MaskSet set(entries);
    std::string text;
    std::string expected;
    while (text.size() < 300) {
      const std::string filler =
          random.text(1 + random.below(20), random.below(2) ? kNeutral : kAlnum);
      const auto& secret = secrets[random.below(static_cast<std::uint32_t>(secrets.size()))];
      const auto [form, replaced] = in_some_form(secret, random);
      text += filler + ' ' + form + ' ';
      expected += filler + ' ' + replaced + ' ';
    }
    CAPTURE(seed);
    at_every_split(text, [&](const Pieces& pieces) { REQUIRE(masked(set, pieces) == expected); });
    for (const Secret& secret : secrets) {
      for (const EncodedForm& form : encoded_forms(secret.value, secret.placeholder)) {
        REQUIRE(expected.find(form.pattern) == std::string::npos);
      }
    }
    Masker masker(set, Masker::Holding::beginnings);
    std::string scratch;
    for (std::size_t at = 0; at < text.size(); ++at) {
      masker.feed(std::string_view(text).substr(at, 1), scratch);
      if (masker.held() == 0) continue;
      REQUIRE(begins_a_form(std::string_view(text).substr(at + 1 - masker.held(), masker.held()),
                            secrets));
    }
  }
}
