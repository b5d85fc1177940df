// What the mask costs in a coded body, beside the libraries' own work: test_proxy "[.bench]".
#include <zlib.h>

#include <algorithm>
#include <ctime>
#include <iostream>

#include "proxy/body_mask.hpp"
#include "tests/http/coded.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

constexpr std::size_t kPiece = 16384;  // as the body comes and leaves

// Text of about the entropy of JSON from an API.
std::string text_of(std::size_t size) {
  constexpr std::string_view kWords[] = {"\"id\": ",         "\"name\": ", "\"content\": ",
                                         "\"created_at\": ", "the ",       "function ",
                                         "return ",          "error "};
  std::string text;
  std::uint32_t state = 1;
  while (text.size() < size) {
    state = state * 1664525 + 1013904223;
    text += kWords[state >> 29U];
    if ((state >> 20U & 3U) == 0) text += std::to_string(state) + ",\n";
  }
  text.resize(size);
  return text;
}

// The least of several runs, in milliseconds of processor time.
template <class Run>
double least(Run run) {
  double best = 1e9;
  for (int i = 0; i < 7; ++i) {
    const std::clock_t begin = std::clock();
    run();
    best = std::min(best, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

// zlib alone, with the same pieces: inflate, then deflate at this level.
std::size_t zlib_alone(std::string_view coded, int level) {
  z_stream in{};
  z_stream out{};
  REQUIRE(inflateInit2(&in, 15 + 16) == Z_OK);
  REQUIRE(deflateInit2(&out, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string plain(kPiece, '\0');
  std::string left(kPiece, '\0');
  std::size_t written = 0;
  const auto deflate_all = [&](std::size_t size, int flush) {
    out.next_in = reinterpret_cast<Bytef*>(plain.data());
    out.avail_in = static_cast<uInt>(size);
    do {
      out.next_out = reinterpret_cast<Bytef*>(left.data());
      out.avail_out = kPiece;
      deflate(&out, flush);
      written += kPiece - out.avail_out;
    } while (out.avail_out == 0);
  };
  for (std::size_t at = 0; at < coded.size(); at += kPiece) {
    const std::string_view piece = coded.substr(at, kPiece);
    in.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    in.avail_in = static_cast<uInt>(piece.size());
    do {
      in.next_out = reinterpret_cast<Bytef*>(plain.data());
      in.avail_out = kPiece;
      inflate(&in, Z_NO_FLUSH);
      if (in.avail_out < kPiece) deflate_all(kPiece - in.avail_out, Z_NO_FLUSH);
    } while (in.avail_out == 0);
  }
  deflate_all(0, Z_FINISH);
  inflateEnd(&in);
  deflateEnd(&out);
  return written;
}

std::size_t masked(const MaskSet& set, Coding coding, std::string_view coded) {
  MaskPlan plan;
  plan.undone = {coding};
  BodyMask mask(set, Masker::Holding::beginnings, plan);
  std::size_t written = 0;
  for (std::size_t at = 0; at < coded.size(); at += kPiece) {
    written += mask.feed(coded.substr(at, kPiece)).size();
    while (mask.has_more()) written += mask.more().size();
  }
  written += mask.finish().size();
  REQUIRE(mask.failure().empty());
  return written;
}

}  // namespace

TEST_CASE("the mask's share in the cost of a coded body", "[.bench]") {
  const MaskSet set(std::vector<MaskSet::Entry>{{"ghp_0123456789abcdefghijABCDEFGHIJ456789",
                                                 "ghp_9876543210abcdefghijABCDEFGHIJ456789", "s"}});
  const std::string text = text_of(std::size_t{16} << 20U);
  const double mebibytes = static_cast<double>(text.size()) / (1 << 20);
  const std::string gzip = encode({Coding::gzip}, text);
  std::size_t size = 0;
  for (const int level : {1, 6}) {
    const double alone = least([&] { size = zlib_alone(gzip, level); });
    std::cout << "gzip, zlib alone, level " << level << ": " << alone << " ms, "
              << mebibytes / alone * 1000 << " MiB/s of text, " << size << " bytes\n";
  }
  const double alone = least([&] { (void)zlib_alone(gzip, 1); });
  for (const Coding coding : kEach) {
    const std::string coded = encode({coding}, text);
    const double ours = least([&] { size = masked(set, coding, coded); });
    std::cout << to_string(coding) << ", masked: " << ours << " ms, " << mebibytes / ours * 1000
              << " MiB/s of text, " << size << " bytes";
    if (coding == Coding::gzip) std::cout << ", " << ours / alone << " of zlib alone at level 1";
    std::cout << "\n";
  }
}
