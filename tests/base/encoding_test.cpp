#include "base/encoding.hpp"

#include "base/clock.hpp"
#include "base/random.hpp"
#include "base/reason.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

TEST_CASE("base64 matches the vectors of RFC 4648") {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : vectors) {
    CHECK(base64_encode(plain) == coded);
    CHECK(base64_decode(coded) == plain);
  }
  CHECK(base64_encode("\xff\xfe", Base64Alphabet::url, Base64Padding::no) == "__4");
  CHECK(base64_decode("__4") == "\xff\xfe");
}

TEST_CASE("base64 refuses what is not base64") {
  for (const char* text : {"Zg=", "Z", "Zh==", "Zm9v YmFy", "Zm9v\n", "+_==", "====", "Zg==Zg=="}) {
    CAPTURE(text);
    CHECK_FALSE(base64_decode(text).has_value());
  }
}

TEST_CASE("every reason has a word, a status and a phrase of its own") {
  std::vector<std::string_view> words;
  for (int i = 0; i <= static_cast<int>(Reason::internal); ++i) {
    const ReasonInfo& entry = info(static_cast<Reason>(i));
    CHECK_FALSE(entry.word.empty());
    CHECK_FALSE(entry.phrase.empty());
    CHECK(std::find(words.begin(), words.end(), entry.word) == words.end());
    words.push_back(entry.word);
  }
  CHECK(info(static_cast<Reason>(200)).status == 500);
}

TEST_CASE("times are written in UTC with microseconds") {
  using namespace std::chrono;
  CHECK(rfc3339(system_clock::time_point(microseconds(1'700'000'000'000'042))) ==
        "2023-11-14T22:13:20.000042Z");
}

TEST_CASE("random numbers stay below their bound and reach all of it") {
  SystemRandom random;
  std::array<int, 7> seen{};
  for (int i = 0; i < 2000; ++i) ++seen.at(random.below(7));
  for (const int count : seen) CHECK(count > 100);
}
