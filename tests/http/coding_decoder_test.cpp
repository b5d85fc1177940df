// Codings undone: what other programs made, in every split; cut, damaged, and far larger than they look.
#include <algorithm>

#include "tests/http/coded.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;

namespace {

void check_decodes(const std::vector<Coding>& codings, std::string_view coded,
                   const std::string& expected) {
  at_every_split(coded, [&](const auto& pieces) { REQUIRE(decode(codings, pieces) == expected); });
}

struct Sample {
  const char* name;
  Coding coding;
  std::string bytes;
};
const std::vector<Sample> kSamples = {
    {"gzip", Coding::gzip, kGzip},
    {"gzip with a name", Coding::gzip, kNamedGzip},
    {"deflate", Coding::deflate, kDeflate},
    {"bare deflate", Coding::deflate, kRawDeflate},
    {"br", Coding::br, kBrotli},
    {"zstd", Coding::zstd, kZstd},
    {"zstd, checked", Coding::zstd, kZstdChecked},
    {"zstd, 8 MiB", Coding::zstd, kZstd8MiB},
};

// All that comes, piece by piece, none of it kept. `coded` is fed in one piece.
struct Flow {
  std::size_t bytes = 0;
  std::size_t largest = 0;
  bool whole = false;
};
Flow pump(const std::vector<Coding>& codings, std::string_view coded) {
  Decoder decoder(codings);
  decoder.feed(coded);
  decoder.finish();
  Flow flow;
  for (;;) {
    const Decoder::Event event = decoder.next();
    flow.whole = event == Decoder::Event::end;
    if (event != Decoder::Event::piece) return flow;
    flow.bytes += decoder.piece().size();
    flow.largest = std::max(flow.largest, decoder.piece().size());
  }
}

std::string zeros(const std::vector<Coding>& codings, std::size_t mebibytes) {
  Encoder encoder(codings);
  const std::string piece(std::size_t{1} << 20U, '\0');
  std::string out;
  for (std::size_t i = 0; i < mebibytes; ++i) encoder.write(piece, out);
  encoder.finish(out);
  return out;
}

}  // namespace

TEST_CASE("what other programs coded is read, wherever it is cut") {
  for (const Sample& sample : kSamples) {
    INFO(sample.name);
    check_decodes({sample.coding}, sample.bytes, kText + "|end");
  }
}

TEST_CASE("a coded body that breaks off is told, at every byte") {
  for (const Sample& sample : kSamples) {
    INFO(sample.name);
    for (std::size_t size = 1; size < sample.bytes.size(); ++size) {
      const std::string_view cut = std::string_view(sample.bytes).substr(0, size);
      const std::string got = decode({sample.coding}, {cut});
      INFO(size);
      REQUIRE(got.ends_with("|truncated"));
      REQUIRE(kText.starts_with(got.substr(0, got.find('|'))));
    }
  }
}

TEST_CASE("a body of no bytes is an empty one, also under several codings") {
  for (const Coding coding : kEach) {
    CHECK(decode({coding}, {}) == "|end");
    CHECK(decode({coding, Coding::gzip}, {}) == "|end");
    CHECK(decode({coding}, {encode({coding}, "")}) == "|end");
  }
}

TEST_CASE("members of gzip and frames of zstd are joined; zstd's skippable ones are skipped") {
  check_decodes({Coding::gzip}, kGzip + kNamedGzip, kText + kText + "|end");
  check_decodes({Coding::gzip}, kGzip + encode({Coding::gzip}, "") + kGzip, kText + kText + "|end");
  check_decodes({Coding::zstd}, kZstd + kZstdChecked, kText + kText + "|end");
  check_decodes({Coding::zstd}, kZstdSkipped + kZstd + kZstdSkipped, kText + "|end");
}

TEST_CASE("what stands behind the end is dropped, as browsers do, and never mistaken for text") {
  for (const std::string tail : {"x", "\x1f", "\x1f\x1f\x8b", "trailing", "<html>"}) {
    check_decodes({Coding::gzip}, kGzip + tail, kText + "|end|dropped");
    check_decodes({Coding::deflate}, kDeflate + tail, kText + "|end|dropped");
    check_decodes({Coding::deflate}, kRawDeflate + tail, kText + "|end|dropped");
    check_decodes({Coding::br}, kBrotli + tail, kText + "|end|dropped");
    CHECK(decode({Coding::zstd}, {kZstd + tail}).ends_with("|malformed"));
  }
  check_decodes({Coding::gzip}, kGzip + std::string(600, '\0'), kText + "|end|dropped");
  // A further member that is none.
  CHECK(decode({Coding::gzip}, {kGzip + "\x1f\x8b" + "not one"}).ends_with("|malformed"));
  CHECK(decode({Coding::gzip}, {kGzip + kGzip.substr(0, 10)}) == kText + "|truncated");
}

TEST_CASE("what is not in its coding is malformed") {
  for (const Coding coding : {Coding::gzip, Coding::zstd}) {
    for (const std::string body : {"<html>not really</html>", "{}", "\x1e\x8b\x08"})
      check_decodes({coding}, body, "|malformed");
  }
  CHECK(decode({Coding::deflate}, {"<html>not really</html>"}).ends_with("|malformed"));
  CHECK(decode({Coding::br}, {"<html>not really</html>"}).ends_with("|malformed"));
  for (const Sample& sample : kSamples) {
    for (const Coding other : kEach) {
      if (other != sample.coding) CHECK_FALSE(decode({other}, {sample.bytes}).ends_with("|end"));
    }
  }
}

TEST_CASE("a check sum that is wrong, a length that is wrong") {
  const auto broken = [](std::string bytes, std::size_t at) {
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    return bytes;
  };
  const auto ends = [](Coding coding, const std::string& bytes) {
    const std::string got = decode({coding}, {bytes});
    return got.substr(got.find('|'));
  };
  CHECK(ends(Coding::gzip, broken(kGzip, kGzip.size() - 8)) == "|malformed");
  CHECK(ends(Coding::gzip, broken(kGzip, kGzip.size() - 4)) == "|malformed");
  CHECK(ends(Coding::gzip, broken(kGzip, 2)) == "|malformed");  // no method that there is
  CHECK(ends(Coding::deflate, broken(kDeflate, kDeflate.size() - 1)) == "|malformed");
  CHECK(ends(Coding::zstd, broken(kZstdChecked, kZstdChecked.size() - 1)) == "|malformed");
}

TEST_CASE("windows beyond what HTTP allows, dictionaries, and old formats are malformed") {
  check_decodes({Coding::zstd}, kZstd16MiB, "|malformed");
  CHECK(decode({Coding::br}, {kLargeBrotli}).ends_with("|malformed"));
  CHECK(decode({Coding::zstd}, {from_hex("28b52ffd2101") + "x"}).ends_with("|malformed"));
  CHECK(
      decode({Coding::deflate}, {from_hex("78bb00000001") + kRawDeflate}).ends_with("|malformed"));
  for (const char* magic : {"1eb52ffd", "22b52ffd", "25b52ffd", "27b52ffd"})  // zstd 0.1 to 0.7
    CHECK(decode({Coding::zstd}, {from_hex(magic) + kZstdBlock}) == "|malformed");
}

TEST_CASE("codings over one another are undone from the last to the first") {
  for (const Coding first : kEach) {
    for (const Coding second : kEach) {
      const std::string coded = encode({first, second}, kText);
      check_decodes({first, second}, coded, kText + "|end");
      if (first != second) CHECK_FALSE(decode({second, first}, {coded}).ends_with(kText + "|end"));
      CHECK(decode({first, second}, {std::string_view(coded).substr(0, coded.size() - 1)})
                .ends_with("|truncated"));
      // The outer one whole, the inner one cut.
      const std::string inner = encode({first}, kText);
      const std::string cut = encode({second}, std::string_view(inner).substr(0, inner.size() - 3));
      CHECK(decode({first, second}, {cut}).ends_with("|truncated"));
    }
  }
  const std::vector<Coding> three = {Coding::br, Coding::zstd, Coding::gzip};
  check_decodes(three, encode(three, kText), kText + "|end");
}

TEST_CASE("a bomb unfolds piece by piece") {
  for (const Coding coding : kEach) {
    const std::size_t mebibytes = coding == Coding::gzip ? 1024 : 256;
    const std::string bomb = zeros({coding}, mebibytes);
    INFO(to_string(coding) << ": " << bomb.size() << " bytes");
    CHECK(bomb.size() < std::size_t{8} << 20U);
    const Flow flow = pump({coding}, bomb);
    CHECK(flow.bytes == mebibytes << 20U);
    CHECK(flow.largest <= Decoder::kPiece);
    CHECK(flow.whole);
  }
  const std::vector<Coding> stacked = {Coding::gzip, Coding::gzip};
  const std::string bomb = zeros(stacked, 256);
  CHECK(bomb.size() < 64U << 10U);
  const Flow flow = pump(stacked, bomb);
  CHECK(flow.bytes == std::size_t{256} << 20U);
  CHECK(flow.largest <= Decoder::kPiece);
}
