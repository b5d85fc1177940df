// How fast the mask reads: test_secrets "[.bench]".
#include <ctime>
#include <iomanip>
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

TEST_CASE("the mask's speed over bodies in which nothing matches", "[.bench]") {
  SeededRandom random(1);
  const std::string bytes = random.bytes(8 << 20);
  const std::string prose =
      of_words(random, {"the ", "token ", "\"content\": ", "{\n  ", "function ", "error ",
                        "github ", "secret ", "0x1f ", "return ", "of ", "sk-"});
  // An escape in about 60 bytes, as in pages and answers of APIs.
  const std::string html = of_words(
      random,
      {"<div class=\"row col-md-6\" style=\"width: 100%; margin: 0 auto\">\n      ", "</p>\n<p>",
       "The quick brown fox jumps over the lazy dog, as it has done since 1885. ",
       "<a href=\"/search?q=two%20words&amp;page=2\" title=\"next\">", "</a>\n    </li>\n    <li>",
       "<script>if (a && b[0] < 10) { document.title = 'x\\n'; }</script>\n",
       "it&#39;s said that profits rose by 5% in Q2 &mdash; more than ",
       "&nbsp;&copy; 2024 Acme, Inc. ",
       "<img src=\"https://cdn.example.com/img/9f86d081884c7d65.png\" alt=\"logo\">\n"});
  const std::string json = of_words(
      random,
      {"{\"id\":1296269,\"node_id\":\"MDEwOlJlcG9zaXRvcnkxMjk2MjY5\",", "\"private\":false,\n",
       "\"html_url\":\"https://github.com/octocat/Hello-World/pulls{/number}\",",
       "\"description\":\"This is \\\"your\\\" first repo!\\nAnd more of it.\",",
       "\"created_at\":\"2011-01-26T19:01:12Z\",", "\"size\":108,\"topics\":[\"a\",\"api\"]},",
       "\"title\":\"caf\\u00e9 \\u2014 menu\",",
       "\"permissions\":{\"admin\":false,\"push\":true},"});
  const std::string nested = of_words(
      random, {"\\\"name\\\":", "\\\"value of it\\\",", "{\\n  ", "1234,",
               "\\\"url\\\":\\\"https:\\/\\/api.test\\/v1\\\"", "\\\\\\\"twice\\\\\\\": \\\\n"});
  const std::string base64 = base64_encode(bytes);
  for (const int count : {1, 10, 1000}) {
    const Secrets secrets(random, count);
    const MaskSet set(secrets.entries);
    const auto show = [&](std::string_view name, const std::string& body, std::size_t chunk) {
      std::cout << "  " << name << ' ' << gigabytes_per_second(set, body, chunk) << std::flush;
    };
    std::cout << std::setprecision(3) << count << " secrets, GB/s:";
    show("random", bytes, 65536);
    show("random in 1 KiB", bytes, 1024);
    show("prose", prose, 65536);
    show("HTML", html, 65536);
    show("JSON", json, 65536);
    show("JSON in JSON", nested, 65536);
    show("base64", base64, 65536);
    std::cout << "\n";
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
  show("dense HTML",
       of_words(random, {"<p>one &amp; two</p>", "&lt;b&gt;", "&quot;quoted&quot; words ",
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
