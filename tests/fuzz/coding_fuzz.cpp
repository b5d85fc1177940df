// Invariants: any split of any bytes ends as the whole does, with the same text where it is complete and never with
// another one; no piece is larger than it may be; and what was read is read again from what an encoder makes of it.
// The first byte names the codings: two bits for each of three, the highest two how many.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/coding_decoder.hpp"
#include "http/coding_encoder.hpp"

namespace {

using namespace warder;
using Event = Decoder::Event;

constexpr std::size_t kMost = 1U << 20U;  // of text: a bomb must not take the fuzzer's time

struct Seen {
  std::string text;
  Event end = Event::need_more;
  bool cut = false;  // by kMost
};

Seen read(const std::vector<Coding>& codings, std::string_view all, std::size_t piece) {
  Decoder decoder(codings);
  Seen seen;
  const auto pump = [&] {
    for (;;) {
      seen.end = decoder.next();
      if (seen.end != Event::piece) return;
      const std::string_view made = decoder.piece();
      if (made.empty() || made.size() > Decoder::kPiece) std::abort();
      seen.text += made;
      seen.cut = seen.text.size() > kMost;
      if (seen.cut) return;
    }
  };
  for (std::size_t at = 0; at < all.size(); at += piece) {
    decoder.feed(all.substr(at, piece));
    pump();
    if (seen.cut || seen.end == Event::malformed) return seen;
    if (seen.end != Event::need_more) std::abort();
  }
  decoder.finish();
  pump();
  if (!seen.cut && seen.end == Event::need_more) std::abort();
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<Coding> codings;
  for (unsigned i = 0; i < 1U + (data[0] >> 6U) % 3U; ++i)
    codings.push_back(static_cast<Coding>(data[0] >> (2U * i) & 3U));
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Seen whole = read(codings, all, all.empty() ? 1 : all.size());
  if (whole.cut) return 0;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}}) {
    const Seen split = read(codings, all, piece);
    if (split.end != whole.end) std::abort();
    if (whole.end == Event::end
            ? split.text != whole.text
            : !split.text.starts_with(whole.text) && !whole.text.starts_with(split.text)) {
      std::abort();
    }
  }
  if (whole.end != Event::end) return 0;
  Encoder encoder(codings);
  std::string coded;
  const std::size_t half = whole.text.size() / 2;
  encoder.write(std::string_view(whole.text).substr(0, half), coded);
  encoder.flush(coded);
  encoder.write(std::string_view(whole.text).substr(half), coded);
  encoder.finish(coded);
  const Seen again = read(codings, coded, coded.size());
  if (again.end != Event::end || again.text != whole.text) std::abort();
  return 0;
}
