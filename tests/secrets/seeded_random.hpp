// Randomness that a failing test can repeat: SplitMix64 from a seed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/random.hpp"

namespace warder::test {

struct SeededRandom final : Random {
  explicit SeededRandom(std::uint64_t seed) : state(seed) {}
  void fill(std::span<std::uint8_t> out) override {
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(next() >> 32);
  }
  std::uint64_t next() {
    std::uint64_t z = state += 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
  }
  std::string text(std::size_t size, std::string_view alphabet) {
    std::string out;
    while (out.size() < size) out += alphabet[below(static_cast<std::uint32_t>(alphabet.size()))];
    return out;
  }
  std::string bytes(std::size_t size) {
    std::string out;
    while (out.size() < size) out += static_cast<char>(below(256));
    return out;
  }
  std::uint64_t state;
};

inline constexpr std::string_view kAlnum =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

}  // namespace warder::test
