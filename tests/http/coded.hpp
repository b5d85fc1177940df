// Bodies that other programs coded, and what the tests of codings share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/coding_decoder.hpp"
#include "http/coding_encoder.hpp"

namespace warder::test {

inline std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  return bytes;
}

inline const std::string kText =
    "hello, hello, hello: coded by somebody else\nhello, hello, hello: coded by somebody else\n"
    "hello, hello, hello: coded by somebody else\n";

// kText, by Python's zlib, brotli and zstandard.
inline const std::string kRawDeflate =
    from_hex("cb48cdc9c9d751c840a2ac1492f353525314922a158af3735393f2532a1552738a53b93268a41600");
inline const std::string kGzip =
    from_hex("1f8b0800000000000203") + kRawDeflate + from_hex("ce25a1e384000000");
inline const std::string kNamedGzip =
    from_hex("1f8b08080000000002ff6e616d652e74787400") + kRawDeflate + from_hex("ce25a1e384000000");
inline const std::string kDeflate = from_hex("789c") + kRawDeflate + from_hex("16d42e78");
inline const std::string kBrotli = from_hex(
    "1b8300c014a1d2a126e72f74f38032eeb7e0b720d88003f63c09c816b66bd3c904a7b5d6c9156ac059ab382771de2a"
    "01");
// By brotli --large_window=30: the same text in the format that HTTP does not have.
inline const std::string kLargeBrotli = from_hex(
    "115e0c020053844a879a9cbfd0cd03cab8df82df8260030ed8f324205bd8ae8d8e4ce06859ebe40a35e0ac559c9338"
    "6"
    "f95");
inline const std::string kZstdBlock = from_hex(
    "7d0100040268656c6c6f2c203a20636f64656420627920736f6d65626f647920656c73650a0400f21402e08290e286"
    "b8"
    "b205");
inline const std::string kZstd = from_hex("28b52ffd2084") + kZstdBlock;
inline const std::string kZstdChecked = from_hex(
    "28b52ffd04007d0100040268656c6c6f2c203a20636f64656420627920736f6d65626f647920656c73650a0400f214"
    "02"
    "e08290e286b8b2052f1e8ac4");
inline const std::string kZstd8MiB = from_hex("28b52ffd0068") + kZstdBlock;    // its window
inline const std::string kZstd16MiB = from_hex("28b52ffd0070") + kZstdBlock;   // too large a one
inline const std::string kZstdSkipped = from_hex("502a4d1803000000") + "abc";  // a skippable frame

inline const std::vector<Coding> kEach = {Coding::gzip, Coding::deflate, Coding::br, Coding::zstd};

inline std::string encode(const std::vector<Coding>& codings, std::string_view text) {
  Encoder encoder(codings);
  std::string out;
  encoder.write(text, out);
  encoder.finish(out);
  return out;
}

// The text, then "|end", "|malformed" or "|truncated"; "|dropped" behind it where something was.
inline std::string decode(const std::vector<Coding>& codings,
                          const std::vector<std::string_view>& pieces) {
  using Event = Decoder::Event;
  Decoder decoder(codings);
  std::string text;
  const auto pump = [&] {
    for (;;) {
      const Event event = decoder.next();
      if (event != Event::piece) return event;
      text += decoder.piece();
    }
  };
  Event event = Event::need_more;
  for (const std::string_view piece : pieces) {
    decoder.feed(piece);
    event = pump();
    if (event == Event::malformed) return text + "|malformed";
  }
  decoder.finish();
  event = pump();
  const std::string end = event == Event::end         ? "|end"
                          : event == Event::truncated ? "|truncated"
                          : event == Event::malformed ? "|malformed"
                                                      : "|waits";
  return text + end + (decoder.dropped() ? "|dropped" : "");
}

}  // namespace warder::test
