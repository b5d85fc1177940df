#include "secrets/escape_filter.hpp"

#include <algorithm>
#include <bit>

#include "secrets/secret_value.hpp"
#include "secrets/spelling.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace warder {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kBehind = 2;  // read behind each byte of a block

// A part of the text from `begin` to `end`, and a bit for each byte of it that may begin an escape, the first one lowest.
struct Block {
  std::size_t begin;
  std::size_t end;
  std::uint64_t bits;
};

Block next_block_plain(std::string_view text, std::size_t at) {
  const std::size_t last = text.size() - kBlock - kBehind;
  while (at < last + kBlock) {
    const std::size_t begin = std::min(at, last);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      bits |= std::uint64_t{begins_escape(text[begin + i])} << i;
    }
    bits >>= at - begin;
    if (bits != 0) return {at, begin + kBlock, bits};
    at = begin + kBlock;
  }
  return {at, at, 0};
}

#ifdef __x86_64__
#define WARDER_AVX2 __attribute__((target("avx2")))

WARDER_AVX2 inline __m256i twice(const std::array<std::uint8_t, 16>& row) {
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(row.data())));
}

struct Avx2Rows {
  WARDER_AVX2 explicit Avx2Rows(const EscapeFilter::Rows& rows)
      : low(twice(rows.low)), high(twice(rows.high)) {}
  WARDER_AVX2 __m256i of(const char* data) const {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data));
    const __m256i half = _mm256_set1_epi8(0x0f);
    const __m256i high_half = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half);
    return _mm256_and_si256(_mm256_shuffle_epi8(low, _mm256_and_si256(bytes, half)),
                            _mm256_shuffle_epi8(high, high_half));
  }
  __m256i low, high;
};

WARDER_AVX2 Block next_block_avx2(std::string_view text, std::size_t from,
                                  const EscapeFilter::Tables& tables) {
  const Avx2Rows first(tables[0]);
  const Avx2Rows second(tables[1]);
  const Avx2Rows third(tables[2]);
  const std::size_t last = text.size() - kBlock - kBehind;
  std::size_t at = from;
  while (at < last + kBlock) {
    const std::size_t begin = std::min(at, last);
    std::uint64_t none = 0;
    for (std::size_t i = 0; i < kBlock; i += 32) {
      const char* const data = text.data() + begin + i;
      const __m256i shared = _mm256_and_si256(
          first.of(data), _mm256_and_si256(second.of(data + 1), third.of(data + 2)));
      const __m256i is_none = _mm256_cmpeq_epi8(shared, _mm256_setzero_si256());
      none |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(is_none))} << i;
    }
    const std::uint64_t bits = ~none >> (at - begin);
    if (bits != 0) return {at, begin + kBlock, bits};
    at = begin + kBlock;
  }
  return {at, at, 0};
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#endif

// The first block from `from` on with a bit in it, else an empty one at the end of the last, which may overlap.
Block next_block(std::string_view text, std::size_t from,
                 [[maybe_unused]] const EscapeFilter::Tables& tables) {
#ifdef __x86_64__
  if (has_avx2()) return next_block_avx2(text, from, tables);
#endif
  return next_block_plain(text, from);
}

// Which of the eight bits stands for an introducer and a second byte: any distribution is right, this one keeps apart what is
// common.
std::uint8_t bit_of(char introducer, char second) {
  switch (introducer) {
    case '%': return second == '2' ? 1 : 2;
    case '&': return second == '#' ? 4 : (static_cast<unsigned char>(second) & 1U) != 0 ? 8 : 16;
    default: return second == 'u' ? 32 : second == '\\' ? 64 : 128;
  }
}

}  // namespace

EscapeFilter::EscapeFilter(const CharClass& wanted) : wanted_(wanted) {
  const auto mark = [](Rows& rows, int byte, std::uint8_t bit) {
    rows.low[byte & 15] |= bit;
    rows.high[byte >> 4] |= bit;
  };
  for (const char introducer : {'%', '&', '\\'}) {
    for (int second = 0; second < 256; ++second) {
      for (int third = 0; third < 256; ++third) {
        const auto b = static_cast<char>(second);
        if (!may_spell(introducer, b, static_cast<char>(third), wanted)) continue;
        const std::uint8_t bit = bit_of(introducer, b);
        mark(tables_[0], introducer, bit);
        mark(tables_[1], second, bit);
        mark(tables_[2], third, bit);
      }
    }
  }
}

EscapeFilter::~EscapeFilter() {
  wipe(reinterpret_cast<char*>(wanted_.data()), sizeof wanted_);
  wipe(reinterpret_cast<char*>(tables_.data()), sizeof tables_);
}

std::size_t EscapeFilter::find(std::string_view text, std::size_t from) const {
  const auto may_begin = [&](std::size_t at) {
    if (!begins_escape(text[at])) return false;
    return at + kBehind >= text.size() || may_spell(text[at], text[at + 1], text[at + 2], wanted_);
  };
  if (from < text.size() && may_begin(from)) return from;  // where one stands behind another
  std::size_t at = from;
  while (text.size() >= kBlock + kBehind && at + kBehind < text.size()) {
    Block block = next_block(text, at, tables_);
    for (; block.bits != 0; block.bits &= block.bits - 1) {
      const std::size_t found =
          block.begin + static_cast<std::size_t>(std::countr_zero(block.bits));
      if (may_begin(found)) return found;
    }
    at = block.end;
  }
  for (; at < text.size(); ++at) {
    if (may_begin(at)) return at;
  }
  return at;
}

}  // namespace warder
