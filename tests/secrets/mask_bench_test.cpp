// How fast the mask reads: test_secrets "[.bench]".
#include <chrono>
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
  using Clock = std::chrono::steady_clock;
  std::string scratch;
  std::size_t out = 0;
  std::size_t in = 0;
  const auto begin = Clock::now();
  Clock::duration spent{};
  do {
    Masker masker(set, Masker::Holding::beginnings);
    for (std::size_t at = 0; at < body.size(); at += chunk) {
      out += masker.feed(body.substr(at, chunk), scratch).size();
    }
    out += masker.finish(scratch).size();
    in += body.size();
    spent = Clock::now() - begin;
  } while (spent < std::chrono::milliseconds(300));
  CHECK(out == in);
  return static_cast<double>(in) / std::chrono::duration<double>(spent).count() / 1e9;
}

}  // namespace

TEST_CASE("the mask's speed over random, text and base64 bodies", "[.bench]") {
  SeededRandom random(1);
  const std::string bytes = random.bytes(8 << 20);
  std::string text;
  constexpr std::string_view kWords[] = {"the ",      "token ",  "\"content\": ", "{\n  ",
                                         "function ", "error ",  "github ",       "secret ",
                                         "0x1f ",     "return ", "of ",           "sk-"};
  while (text.size() < 8U << 20) text += kWords[random.below(std::size(kWords))];
  const std::string base64 = base64_encode(bytes);
  for (const int secrets : {1, 10}) {
    std::vector<std::string> values;
    std::vector<std::string> placeholders;
    std::vector<MaskSet::Entry> entries;
    for (int i = 0; i < secrets; ++i) {
      values.push_back("ghp_" + random.text(36, kAlnum));
      placeholders.push_back(make_placeholder(values.back(), random));
    }
    for (int i = 0; i < secrets; ++i) entries.push_back({values[i], placeholders[i], "s"});
    const MaskSet set(entries);
    for (const std::size_t chunk : {1024, 65536}) {
      std::cout << secrets << " secrets, chunks of " << chunk << " bytes, GB/s: random "
                << gigabytes_per_second(set, bytes, chunk) << ", text "
                << gigabytes_per_second(set, text, chunk) << ", base64 "
                << gigabytes_per_second(set, base64, chunk) << "\n";
    }
  }
}
