// Randomness comes in as a parameter, so that tests can repeat it.
#pragma once

#include <cstdint>
#include <span>

namespace warder {

struct Random {
  virtual ~Random() = default;
  virtual void fill(std::span<std::uint8_t> out) = 0;
  // Uniform in [0, bound); bound > 0.
  std::uint32_t below(std::uint32_t bound);
};

// getrandom(2). Throws std::system_error when the kernel gives none.
struct SystemRandom final : Random {
  void fill(std::span<std::uint8_t> out) override;
};

}  // namespace warder
