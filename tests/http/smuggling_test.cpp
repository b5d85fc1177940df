// The corpus of ambiguous messages: each has one reading, in whatever pieces it comes. The origin's
// side of the same cases is tests/e2e/test_smuggling.py.
#include <set>

#include "tests/http/smuggling_corpus.hpp"
#include "tests/http/transcript.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;

namespace {

// Cutting a longer one at every byte takes minutes.
constexpr std::size_t kCutEverywhere = 3000;

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string_view::npos; ++at) ++found;
  return found;
}

// What a transcript says, in the corpus's words; a message that is refused behind a whole one is the
// next one's matter.
struct Reading {
  explicit Reading(const std::string& transcript)
      : whole(count("\n" + transcript, "\nend\n")),
        refused(count("\n" + transcript, "\nerror ") > 0 &&
                transcript.find("error truncated") == std::string::npos) {}
  std::size_t whole;
  bool refused;
};

bool is_reading_of(const std::string& verdict, const Reading& reading) {
  if (verdict == "refused") return reading.whole == 0 && reading.refused;
  if (verdict == "incomplete" || verdict == "cut") return reading.whole == 0 && !reading.refused;
  if (verdict == "one") return reading.whole == 1;
  if (verdict == "two") return reading.whole == 2 && !reading.refused;
  return verdict == "judged" && reading.whole >= 1;
}

template <class Play>
void check_every_split(const SmugglingCase& entry, const std::string& whole, Play play) {
  if (entry.bytes.size() <= kCutEverywhere) {
    at_every_split(entry.bytes, [&](const auto& pieces) { REQUIRE(play(pieces) == whole); });
    return;
  }
  const std::string_view bytes = entry.bytes;
  for (const std::size_t size : {1, 7, 4096}) {
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < bytes.size(); at += size)
      pieces.push_back(bytes.substr(at, size));
    REQUIRE(play(pieces) == whole);
  }
}

}  // namespace

TEST_CASE("every ambiguous request of the corpus has its one reading, in whatever pieces") {
  const std::vector<SmugglingCase> cases = SmugglingCorpus::load("requests.txt");
  CHECK(cases.size() >= 400);
  std::set<std::string> names;
  for (const SmugglingCase& entry : cases) {
    CAPTURE(entry.name, entry.verdict);
    CHECK(names.insert(entry.name).second);
    const std::string whole = Transcript::of_requests({entry.bytes});
    INFO(whole.substr(0, 500));
    CHECK(is_reading_of(entry.verdict, Reading(whole)));
    check_every_split(entry, whole,
                      [](const auto& pieces) { return Transcript::of_requests(pieces); });
  }
}

TEST_CASE("every ambiguous response of the corpus is one whole response or none") {
  const std::vector<SmugglingCase> cases = SmugglingCorpus::load("responses.txt");
  CHECK(cases.size() >= 90);
  for (const SmugglingCase& entry : cases) {
    CAPTURE(entry.name, entry.verdict);
    const std::string method = entry.name.starts_with("for-head-") ? "HEAD" : "GET";
    const auto play = [&](const std::vector<std::string_view>& pieces) {
      return Transcript::of_responses(method, pieces, Ending::closed);
    };
    // An interim response has an end of its own.
    const auto final_only = [](std::string text) {
      for (std::size_t at; text.starts_with("head 1") && (at = text.find("end\n")) != text.npos;)
        text.erase(0, at + 4);
      return text;
    };
    const std::string whole = play({entry.bytes});
    INFO(whole.substr(0, 500));
    CHECK(is_reading_of(entry.verdict, Reading(final_only(whole))));
    // What stands behind a response is left in the input, and never read as another one.
    const std::string said = whole.substr(0, whole.find("rest ["));
    CHECK(said.find("EVIL") == std::string::npos);
    check_every_split(entry, whole, play);
  }
}
