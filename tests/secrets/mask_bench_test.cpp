// How fast the mask reads: test_secrets "[.bench]".
#include <ctime>
#include <iostream>

#include "base/encoding.hpp"
#include "secrets/mask.hpp"
#include "secrets/placeholder.hpp"
#include "tests/secrets/seeded_random.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using warder::test::kAlnum;
using warder::test::SeededRandom;

namespace {

double gigabytes_per_second(const MaskSet& set, std::string_view body, std::size_t chunk) {
  std::string scratch;
  std::size_t out = 0;
  std::size_t in = 0;
  const std::clock_t begin = std::clock();  // of this process alone, whatever else runs
  double seconds = 0;
  do {
    Masker masker(set, Masker::Holding::beginnings);
    for (std::size_t at = 0; at < body.size(); at += chunk) {
      out += masker.feed(body.substr(at, chunk), scratch).size();
    }
    out += masker.finish(scratch).size();
    in += body.size();
    seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  } while (seconds < 0.3);
  CHECK(out == in);
  return static_cast<double>(in) / seconds / 1e9;
}

std::string of_words(SeededRandom& random, const std::vector<std::string>& words) {
  std::string text;
  while (text.size() < 8U << 20) {
    text += words[random.below(static_cast<std::uint32_t>(words.size()))];
  }
  return text;
}

std::string repeated(const std::string& part) {
  std::string text;
  while (text.size() < 8U << 20) text += part;
  return text;
}

struct Secrets {
  Secrets(SeededRandom& random, int count) {
    for (int i = 0; i < count; ++i) values.push_back("ghp_" + random.text(36, kAlnum));
    for (const std::string& value : values) {
      placeholders.push_back(make_placeholder(value, random));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      entries.push_back({values[i], placeholders[i], "s"});
    }
  }
  std::vector<std::string> values;
  std::vector<std::string> placeholders;
  std::vector<MaskSet::Entry> entries;
};

}  // namespace

TEST_CASE("the mask's speed over random, text and base64 bodies", "[.bench]") {
  SeededRandom random(1);
  const std::string bytes = random.bytes(8 << 20);
  const std::string text =
      of_words(random, {"the ", "token ", "\"content\": ", "{\n  ", "function ", "error ",
                        "github ", "secret ", "0x1f ", "return ", "of ", "sk-"});
  const std::string base64 = base64_encode(bytes);
  for (const int count : {1, 10}) {
    const Secrets secrets(random, count);
    const MaskSet set(secrets.entries);
    for (const std::size_t chunk : {1024, 65536}) {
      std::cout << count << " secrets, chunks of " << chunk << " bytes, GB/s: random "
                << gigabytes_per_second(set, bytes, chunk) << ", text "
                << gigabytes_per_second(set, text, chunk) << ", base64 "
                << gigabytes_per_second(set, base64, chunk) << "\n";
    }
  }
}

TEST_CASE("the mask's speed over bodies full of escapes", "[.bench]") {
  SeededRandom random(2);
  const Secrets secrets(random, 10);
  const MaskSet set(secrets.entries);
  const std::string& value = secrets.values[0];
  const std::string head = value.substr(0, value.size() - 1);
  const auto show = [&](std::string_view name, const std::string& body) {
    std::cout << name << ": " << gigabytes_per_second(set, body, 65536) << " GB/s\n";
  };
  show("JSON in JSON", of_words(random, {"\\\"name\\\":", "\\\"value of it\\\",", "{\\n  ", "1234,",
                                         "\\\"url\\\":\\\"https:\\/\\/api.test\\/v1\\\""}));
  show("HTML", of_words(random, {"<p>one &amp; two</p>", "&lt;b&gt;", "&quot;quoted&quot; words ",
                                 "<a href=\"/x?a=1&amp;b=2\">", "it&#39;s so", "&nbsp;"}));
  show("percent", of_words(random, {"q=some%20words%20here&", "%2Fpath%2Fto", "name%3Dvalue%26",
                                    "%E2%82%AC", "&plain=1234"}));
  show("%41 repeated", repeated("%41"));
  show("&#65; repeated", repeated("&#65;"));
  show("\\u0041 repeated", repeated("\\u0041"));
  show("\\ repeated", repeated("\\"));
  show("& repeated", repeated("&"));
  show("%25 repeated", repeated("%25"));
  show("&#0&#0 repeated", repeated("&#0"));
  show("all but a value's last byte, one escape, repeated",
       repeated(head.substr(0, 3) + "%5F" + head.substr(4)));
  show("the same, escape last", repeated(head.substr(0, head.size() - 1) + "%25"));
  show("the same, cut escapes", repeated(head + "%4"));
}
