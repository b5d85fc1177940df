// Bounds of a sandbox: how they are read, written and said.
#include "base/bounds.hpp"

#include <catch2/catch.hpp>

namespace warder {
namespace {

std::uint64_t value_of(Bound bound, std::string_view text) {
  const auto parsed = parse_bound(bound, text);
  REQUIRE(std::holds_alternative<std::uint64_t>(parsed));
  return std::get<std::uint64_t>(parsed);
}

bool is_refused(Bound bound, std::string_view text) {
  return std::holds_alternative<std::string>(parse_bound(bound, text));
}

}  // namespace

TEST_CASE("every bound is read in its own unit, and written as it is read", "[bounds]") {
  CHECK(value_of(Bound::memory, "2GiB") == 2ULL << 30);
  CHECK(value_of(Bound::cpus, "1.5") == 1'500);
  CHECK(value_of(Bound::cpus, "2") == 2'000);
  CHECK(value_of(Bound::cpus, "0.05") == 50);
  CHECK(value_of(Bound::pids, "512") == 512);
  CHECK(value_of(Bound::time, "30m") == 1'800'000);
  CHECK(text_of(Bound::cpus, 1'500) == "1.5");
  CHECK(text_of(Bound::cpus, 50) == "0.05");
  CHECK(text_of(Bound::cpus, 2'000) == "2");
  CHECK(text_of(Bound::memory, 2ULL << 30) == "2GiB");
  CHECK(text_of(Bound::output, 1'025) == "1025B");
  CHECK(text_of(Bound::time, 90'000) == "90s");
  for (std::size_t i = 0; i < kBounds; ++i) {
    const auto bound = static_cast<Bound>(i);
    CHECK(bound_named(to_string(bound)) == bound);
    CHECK(value_of(bound,
                   text_of(bound, 1ULL << 24 >>
                                      (bound == Bound::memory || bound == Bound::disk ? 0 : 5))) >
          0);
  }
  CHECK_FALSE(bound_named("memroy"));
  CHECK(flag_of(Bound::file_size) == "--file-size");
}

TEST_CASE("what is no bound, or none that makes sense, is refused", "[bounds]") {
  for (const char* text : {"", "2", "2GB", "2 GiB", "-2GiB", "0GiB", "1MiB", "1025TiB", "0x1GiB",
                           "18446744073709551615GiB", "2GiB "})
    CHECK(is_refused(Bound::memory, text));
  for (const char* text : {"", "0", "1.", ".5", "1.5555", "1,5", "-1", "1e3", "10000", "0.001"})
    CHECK(is_refused(Bound::cpus, text));
  for (const char* text : {"0", "-1", "1.5", "1KiB", "99999999999999999999"})
    CHECK(is_refused(Bound::pids, text));
  CHECK(is_refused(Bound::open_files, "15"));
  CHECK(is_refused(Bound::time, "60"));
  CHECK(is_refused(Bound::time, "721h"));
}

TEST_CASE("what a flag says comes before what a policy says", "[bounds]") {
  Bounds policy, flags;
  policy.set(Bound::pids, 10);
  policy.set(Bound::time, 20);
  flags.set(Bound::pids, 30);
  policy.beneath(flags);
  CHECK(policy.find(Bound::pids) == 30);
  CHECK(policy.find(Bound::time) == 20);
  CHECK_FALSE(policy.find(Bound::disk));
}

TEST_CASE("one line says what was hit, none what was not", "[bounds]") {
  HeldBound held{Bound::memory, 2ULL << 30, "cgroup v1"};
  CHECK(line_of(held).empty());
  held.end = HeldBound::End::ended;
  CHECK(line_of(held) == "the command was ended: memory 2GiB (cgroup v1)");
  HeldBound pids{Bound::pids, 512, "cgroup v1", 31, HeldBound::End::reached};
  CHECK(line_of(pids) ==
        "a limit was reached: pids 512 (cgroup v1): 31 processes or threads were refused");
}

}  // namespace warder
