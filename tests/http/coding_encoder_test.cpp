// Codings applied: any pieces give the text back, and a flush lets all out that went in.
#include "tests/http/coded.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;

namespace {

std::string noise(std::size_t size) {
  std::string bytes;
  std::uint32_t state = 1;
  while (bytes.size() < size) {
    state = state * 1664525 + 1013904223;
    bytes += static_cast<char>(state >> 24U);
  }
  return bytes;
}

}  // namespace

TEST_CASE("what is coded piece by piece is read back") {
  for (const Coding coding : kEach) {
    at_every_split(kText, [&](const auto& pieces) {
      Encoder encoder({coding});
      std::string out;
      for (const std::string_view piece : pieces) encoder.write(piece, out);
      encoder.finish(out);
      REQUIRE(decode({coding}, {out}) == kText + "|end");
    });
  }
}

TEST_CASE("bodies of many windows are read back, under one coding and under three") {
  std::string body = noise(700'000) + std::string(3'000'000, 'a');
  for (int i = 0; i < 20'000; ++i) body += "line " + std::to_string(i * 7919) + "\n";
  const std::vector<std::vector<Coding>> stacks = {{Coding::gzip},
                                                   {Coding::deflate},
                                                   {Coding::br},
                                                   {Coding::zstd},
                                                   {Coding::zstd, Coding::br, Coding::gzip}};
  for (const auto& stack : stacks) {
    Encoder encoder(stack);
    std::string out;
    for (std::size_t at = 0; at < body.size(); at += 16384)
      encoder.write(std::string_view(body).substr(at, 16384), out);
    encoder.finish(out);
    CHECK(out.size() < body.size() / 2);
    CHECK(decode(stack, {out}) == body + "|end");
  }
}

TEST_CASE("after a flush all that went in comes out of what left") {
  const std::vector<std::vector<Coding>> stacks = {
      {Coding::gzip}, {Coding::deflate}, {Coding::br}, {Coding::zstd}, {Coding::gzip, Coding::br}};
  for (const auto& stack : stacks) {
    Encoder encoder(stack);
    Decoder decoder(stack);
    std::string seen;
    std::string sent;
    for (int i = 0; i < 50; ++i) {
      const std::string event = "data: " + std::to_string(i) + "\n\n";
      sent += event;
      std::string out;
      encoder.write(event, out);
      encoder.flush(out);
      REQUIRE_FALSE(out.empty());
      decoder.feed(out);
      while (decoder.next() == Decoder::Event::piece) seen += decoder.piece();
      REQUIRE(seen == sent);
    }
    std::string out;
    encoder.finish(out);
    decoder.feed(out);
    decoder.finish();
    CHECK(decoder.next() == Decoder::Event::end);
  }
}

TEST_CASE("a flush of what was flushed does not grow without end") {
  for (const Coding coding : kEach) {
    Encoder encoder({coding});
    std::string out;
    encoder.write("x", out);
    for (int i = 0; i < 100; ++i) encoder.flush(out);
    CHECK(out.size() < 2000);
    encoder.finish(out);
    CHECK(decode({coding}, {out}) == "x|end");
  }
}
