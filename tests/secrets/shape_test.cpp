// Each named shape against what its tools and the scanners look for, written here from their rules.
#include "secrets/shape.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <regex>
#include <set>

#include "base/encoding.hpp"
#include "secrets/placeholder.hpp"
#include "secrets/shape_tokens.hpp"
#include "tests/secrets/seeded_random.hpp"
#include "tests/secrets/shape_kinds.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitized.hpp"

using namespace warder;
using warder::test::jwt_of;
using warder::test::kAlnum;
using warder::test::Kind;
using warder::test::kinds;
using warder::test::kUrl64;
using warder::test::SeededRandom;

namespace {

// Of each kind.
constexpr std::size_t kMany = warder::test::kSanitized ? 1'000 : 10'000;

constexpr std::string_view kPlain =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~";

PlaceholderSpec shaped(std::string name) {
  PlaceholderSpec spec;
  spec.shape = std::move(name);
  return spec;
}

// CRC-32 another way: by a table, as zlib's documentation has it.
std::string checksum_of(std::string_view text) {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t entry = i;
    for (int k = 0; k < 8; ++k) entry = entry & 1U ? 0xEDB88320U ^ (entry >> 1U) : entry >> 1U;
    table[i] = entry;
  }
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : text)
    crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFFU] ^ (crc >> 8U);
  std::uint64_t rest = crc ^ 0xFFFFFFFFU;
  std::string out;
  while (out.size() < 6) {
    out.insert(out.begin(), kAlnum[rest % 62]);
    rest /= 62;
  }
  return out;
}

// Where texts are the same although nothing but chance decides is bounded by what chance does.
std::size_t same_places(std::string_view a, std::string_view b) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) same += a[i] == b[i];
  return same;
}

bool same_groups(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if ((kAlnum.find(a[i]) == std::string::npos) && kUrl64.find(b[i]) < kAlnum.size() &&
        a.starts_with("xox"))
      return false;
  }
  return true;
}

bool joins(const std::string& placeholder, const std::string& value) {
  for (std::size_t n = 1; n < value.size(); ++n) {
    if ((placeholder + value.substr(n)).find(value) != std::string::npos) return true;
    // Unless the value is found further in front in what came, and so masked there.
    const bool first = (value.substr(0, n) + value).find(value) == n;
    if (first && (value.substr(0, n) + placeholder).find(value) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the checksum is the one that GitHub published") {
  CHECK(base62_crc32("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ") == "0mLq17");
  CHECK(checksum_of("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ") == "0mLq17");
  CHECK(base62_crc32("") == "000000");
  CHECK(base62_crc32("123456789") == checksum_of("123456789"));
}

TEST_CASE("every named shape has a test here") {
  std::set<std::string> tested;
  for (const Kind& kind : kinds()) tested.insert(kind.shape);
  CHECK(std::vector<std::string>(tested.begin(), tested.end()) == shape_names());
}

TEST_CASE("10,000 placeholders of each shape are what its tools look for, and safe to hold") {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.shape, kind.rule);
    const std::regex rule(kind.rule);
    SeededRandom random(7);
    const PlaceholderSpec named = shaped(kind.shape);
    std::set<std::string> made;
    std::string value;
    for (std::size_t i = 0; i < kMany; ++i) {
      if (i % 50 == 0) value = kind.value(random);
      // By name and inferred in turn: aws-secret-key and base62 are what a value without a prefix gets.
      const std::string ph =
          i % 2 ? make_placeholder(value, named, random) : make_placeholder(value, random);
      const bool ok = std::regex_match(ph, rule) && ph.size() == value.size() && ph != value &&
                      ph.find_first_not_of(kPlain) == std::string::npos &&
                      std::any_of(ph.begin(), ph.end(), [](char c) {
                        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
                      });
      if (!ok) {
        CAPTURE(i, value, ph);
        CHECK(ok);
      }
      if (i < 200 && joins(ph, value)) {
        CAPTURE(value, ph);
        CHECK_FALSE(joins(ph, value));
      }
      if (kind.shape.starts_with("github-") && kind.shape != "github-fine-grained") {
        REQUIRE(ph.substr(34) == checksum_of(std::string_view(ph).substr(4, 30)));
      }
      if (kind.shape == "npm")
        REQUIRE(ph.substr(34) == checksum_of(std::string_view(ph).substr(4, 30)));
      made.insert(ph);
    }
    CHECK(made.size() == kMany);
  }
}

TEST_CASE("nothing of a value's random part is kept") {
  for (const Kind& kind : kinds()) {
    if (kind.shape == "jwt") continue;  // below
    CAPTURE(kind.shape, kind.rule);
    SeededRandom random(8);
    const std::string value = kind.value(random);
    // At each place, the value's own character must not be what all placeholders have there, but for what the issuer
    // puts into every token: that is there for another value too.
    std::string other = kind.value(random);
    while (!same_groups(value, other)) other = kind.value(random);
    std::vector<std::size_t> kept(value.size());
    constexpr std::size_t kRounds = 400;
    for (std::size_t i = 0; i < kRounds; ++i) {
      const std::string ph = make_placeholder(value, random);
      for (std::size_t at = 0; at < value.size(); ++at) kept[at] += ph[at] == value[at];
    }
    for (std::size_t at = 0; at < value.size(); ++at) {
      CAPTURE(at, value, other);
      if (kept[at] > kRounds / 2) CHECK(value[at] == other[at]);
    }
  }
}

TEST_CASE(
    "a known prefix with another form behind it is the prefix and base62, as long as the value") {
  SeededRandom random(9);
  for (const std::string& value :
       {"ghp_" + std::string(35, 'a'), "ghp_" + std::string(35, 'a') + "-",
        "npm_" + std::string(40, 'a'), "sk-ant-api03-" + std::string(95, 'a'),
        "sk-proj-" + std::string(156, 'a'), "hf_" + std::string(33, 'a') + "1",
        "AKIA" + std::string(30, 'A'), "xoxb-" + std::string(50, 'a'),
        "pypi-AgEIcHlwaS5vcmc" + std::string(40, 'a'), "github_pat_" + std::string(82, 'a'),
        "SG." + std::string(66, 'a'), "glpat-" + std::string(26, 'a')}) {
    CAPTURE(value);
    const std::size_t prefix = value.find("aaaa") != std::string::npos ? value.find("aaaa") : 4;
    const std::string ph = make_placeholder(value, random);
    CHECK(ph.size() == value.size());
    CHECK(ph.substr(0, prefix) == value.substr(0, prefix));
    CHECK(ph.substr(prefix).find_first_not_of(kAlnum) == std::string::npos);
    CHECK(same_places(ph, value) < prefix + 16);
  }
}

TEST_CASE("a shape that is named is made whatever the value looks like") {
  SeededRandom random(10);
  for (const Kind& kind : kinds()) {
    if (kind.shape == "jwt" || kind.shape == "pypi") continue;
    CAPTURE(kind.shape);
    for (const std::string value :
         {"hunter2-hunter2", "12345678", "QAAAAAAA_AAAAAAAQ", "0f0f0f0f0f0f0f0f0f02"}) {
      const std::string ph = make_placeholder(value, shaped(kind.shape), random);
      CAPTURE(value, ph);
      bool known = false;
      for (const Kind& any : kinds()) {
        known |= any.shape == kind.shape && std::regex_match(ph, std::regex(any.rule));
      }
      // These have no length of their own.
      if (kind.shape == "hex") known = std::regex_match(ph, std::regex("[0-9a-f]{32,34}"));
      if (kind.shape == "base62") known = std::regex_match(ph, std::regex("[0-9A-Za-z]{22,26}"));
      if (kind.shape == "vault" || kind.shape == "stripe") known = known || ph.size() > 28;
      CHECK(known);
      CHECK_FALSE(joins(ph, value));
    }
  }
  const std::string chosen = make_placeholder("gho_short-one", shaped("github-pat"), random);
  CHECK(chosen.starts_with("gho_"));
  CHECK(chosen.size() == 40);
}

TEST_CASE("a JWT keeps the claims that clients read, and no other") {
  SeededRandom random(11);
  const std::string payload =
      R"({"iss":"https://id.example","sub":"user-7","aud":["a","b"],"exp":1893456000,"email":"me@example.com",)"
      R"("jti":"SECRETID","api_key":"SECRETKEY","scope":"read write","https://api.openai.com/auth":{"chatgpt_account_id":"acc"}})";
  const std::string value = jwt_of(R"({"alg":"RS256","typ":"JWT","kid":"k1","x5c":["SECRETCERT"]})",
                                   payload, random.text(342, kUrl64));
  for (const bool named : {false, true}) {
    const std::string ph =
        named ? make_placeholder(value, shaped("jwt"), random) : make_placeholder(value, random);
    CHECK(ph.size() == value.size());
    const auto first = ph.find('.');
    const auto second = ph.find('.', first + 1);
    const auto header = base64_decode(ph.substr(0, first));
    const auto claims = base64_decode(ph.substr(first + 1, second - first - 1));
    REQUIRE(header);
    REQUIRE(claims);
    CHECK(boost::json::parse(*header) ==
          boost::json::parse(R"({"alg":"RS256","typ":"JWT","kid":"k1"})"));
    CHECK(
        boost::json::parse(*claims) ==
        boost::json::parse(
            R"({"iss":"https://id.example","sub":"user-7","aud":["a","b"],"exp":1893456000,)"
            R"("scope":"read write","https://api.openai.com/auth":{"chatgpt_account_id":"acc"}})"));
    CHECK((*header + *claims).find("SECRET") == std::string::npos);
    CHECK((*header + *claims).find("me@") == std::string::npos);
    const std::string signature = ph.substr(second + 1);
    CHECK(signature.size() == 342);
    CHECK(base64_decode(signature));
    CHECK(same_places(signature, value.substr(second + 1)) < 40);
  }
}

TEST_CASE("a JWT whose numbers grow stays in phase; what is no JWT is not taken for one") {
  SeededRandom random(12);
  const std::string signature = random.text(42, kUrl64) + "A";
  for (const char* claims :
       {R"({"exp":0.1,"iat":0.2,"nbf":1e3})", R"({})", R"({"exp":1.5})", R"({"sub":"\u00e4\/"})"}) {
    for (const char* header : {R"({"alg":"HS256"})", R"({"alg":"HS256","typ":"JWT"})"}) {
      const std::string value = jwt_of(header, claims, signature);
      const std::string ph = make_placeholder(value, random);
      CAPTURE(claims, ph);
      CHECK(ph.size() >= value.size());
      CHECK(ph.size() <= value.size() + 12);
      CHECK(ph.size() % 3 == value.size() % 3);
      CHECK(std::count(ph.begin(), ph.end(), '.') == 2);
    }
  }
  const std::string good = R"({"alg":"HS256"})";
  for (const std::string& value :
       {jwt_of(good, "[1,2,3]", signature), jwt_of(good, R"({"sub":)", signature),
        jwt_of(good, R"({"sub":1}x)", signature), jwt_of(good, R"({"sub":1})", "short"),
        jwt_of(good, R"({"sub":1})", ""), jwt_of(good, R"({"sub":1})", signature) + ".x",
        jwt_of(good, R"({"sub":1})", signature.substr(2)), "eyJ" + std::string(80, 'a'),
        std::string("eyJ..") + signature, jwt_of(good, std::string(200, '['), signature)}) {
    CAPTURE(value);
    const std::string ph = make_placeholder(value, random);
    CHECK(ph.find('.') == std::string::npos);
    CHECK(ph.size() == value.size());
    CHECK_THROWS_AS(make_placeholder(value, shaped("jwt"), random), PlaceholderError);
  }
  const std::string large =
      jwt_of(good, R"({"sub":"x","groups":[)" + std::string(9000, '1') + "]}", signature);
  CHECK(make_placeholder(large, random).size() == large.size());
}

TEST_CASE("a PyPI token decodes as the macaroon that it looks like") {
  SeededRandom random(13);
  for (std::size_t size = 72; size < 400; ++size) {
    if ((size + 16) % 4 == 1) continue;  // no base64 has such a length
    const std::string value = "pypi-AgEIcHlwaS5vcmcC" + random.text(size, kAlnum);
    const std::string ph = make_placeholder(value, shaped("pypi"), random);
    CAPTURE(ph);
    REQUIRE(ph.size() == value.size());
    const auto bytes = base64_decode(ph.substr(5));
    REQUIRE(bytes);
    CHECK(bytes->substr(0, 12) == std::string("\x02\x01\x08pypi.org\x02", 12));
    std::size_t at = 12;
    std::size_t length = static_cast<unsigned char>((*bytes)[at++]);
    if (length >= 128) length = length - 128 + 128 * static_cast<unsigned char>((*bytes)[at++]);
    CHECK(length >= 16);
    at += length;
    REQUIRE(at + 36 == bytes->size());
    CHECK(bytes->substr(at, 4) == std::string("\0\0\x06\x20", 4));
  }
  CHECK_THROWS_AS(make_placeholder("pypi-AgEIcHlwaS5vcmc", shaped("pypi"), random),
                  PlaceholderError);
  CHECK_THROWS_AS(make_placeholder("hunter2-hunter2", shaped("pypi"), random), PlaceholderError);
}

TEST_CASE("an obvious placeholder is marked, random, and matches no scanner's rule") {
  for (const Kind& kind : kinds()) {
    SeededRandom random(14);
    PlaceholderSpec spec = shaped(kind.shape);
    for (const bool named : {true, false}) {
      if (!named) spec.shape.clear();
      spec.format = PlaceholderSpec::Format::obvious;
      const std::regex rule(kind.rule);
      for (int i = 0; i < 200; ++i) {
        const std::string value = kind.value(random);
        CAPTURE(kind.shape, value);
        const std::string ph = make_placeholder(value, spec, random);
        CAPTURE(ph);
        const auto mark = ph.find("WARDER~");
        REQUIRE(mark != std::string::npos);
        CHECK(ph.size() >= mark + 7 + 22);
        CHECK(ph.size() >= value.size());
        CHECK(ph.size() % 3 == value.size() % 3);
        if (value.size() >= mark + 7 + 22) CHECK(ph.size() == value.size());
        // A value that ends as the mark begins has one more in front.
        const bool is_moved = mark == 1 && (value.ends_with('W') || value.ends_with("WA"));
        if (!is_moved) CHECK(value.substr(0, mark) == ph.substr(0, mark));
        // These have neither a prefix nor a form of their own: any word fits them.
        const bool any_word =
            kind.shape == "base62" || kind.shape == "aws-secret-key" || kind.shape == "hex";
        if (!any_word) CHECK_FALSE(std::regex_search(ph, rule));
      }
    }
  }
}

TEST_CASE("a shape that could not be kept apart from its value is refused, not looped over") {
  SeededRandom random(15);
  PlaceholderSpec spec;
  spec.form = Template("acme_[a-z]{40}-h");
  CHECK_THROWS_AS(make_placeholder("hunter2-hunter2", spec, random), PlaceholderError);
  CHECK(make_placeholder("junter2-junter2", spec, random).ends_with("-h"));
  spec.form = Template("hunter2-hunter2-[a-z]{40}");
  CHECK_THROWS_AS(make_placeholder("hunter2-hunter2", spec, random), PlaceholderError);
  // A poor one: a quarter of all ends are a beginning of the value.
  spec.form = Template("[a-d]{64}");
  for (int i = 0; i < 500; ++i) {
    const std::string value = random.text(40, "abcd");
    CHECK_FALSE(joins(make_placeholder(value, spec, random), value));
  }
}
