#include "base/random.hpp"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace warder {

std::uint32_t Random::below(std::uint32_t bound) {
  // Values past the last whole multiple of bound would favour the small residues.
  const std::uint32_t limit = UINT32_MAX - UINT32_MAX % bound;
  for (;;) {
    std::array<std::uint8_t, 4> raw{};
    fill(raw);
    std::uint32_t value = 0;
    std::memcpy(&value, raw.data(), raw.size());
    if (value < limit) return value % bound;
  }
}

void SystemRandom::fill(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const ssize_t n = ::getrandom(out.data(), out.size(), 0);
    if (n < 0) {
      if (errno == EINTR) continue;
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    out = out.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace warder
