// Invariants: any split of any body leaves as the whole does, or fails as it does; no value leaves, neither as it is nor in
// a compressed message; what holds no value and leaves, leaves to the byte. The first byte says how.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "proxy/grpc_mask.hpp"

namespace {

using namespace warder;

const std::string kValue = "secretvalue";
const std::string kSame = "placeholder";
const std::string kLonger = "placeholder-longer";

struct Left {
  std::string body;
  std::string failure;
};

Left pass(const MaskSet& set, std::uint8_t how, std::string_view all, std::size_t piece) {
  const auto compression = static_cast<GrpcMask::Compression>(how & 3U);
  const auto unreadable =
      (how & 4U) != 0 ? GrpcMask::Unreadable::passes : GrpcMask::Unreadable::refused;
  const auto holding = (how & 8U) != 0 ? Masker::Holding::words : Masker::Holding::beginnings;
  GrpcMask mask(set, holding, compression, unreadable);
  Left left;
  for (std::size_t at = 0; at < all.size(); at += piece) {
    mask.feed(all.substr(at, piece));
    while (mask.pump(left.body, 4096)) {
    }
    left.failure = mask.failure();
    if (!left.failure.empty()) return left;
  }
  (void)mask.finish(left.body);
  left.failure = mask.failure();
  return left;
}

// Is the value in any message of it?
bool tells(std::string_view body, Coding coding) {
  GrpcParser parser;
  std::string payload;
  for (;;) {
    switch (parser.next(body)) {
      case GrpcParser::Event::need_more: return payload.find(kValue) != std::string::npos;
      case GrpcParser::Event::malformed: return false;
      case GrpcParser::Event::prefix: payload.clear(); break;
      case GrpcParser::Event::payload: payload += parser.payload(); break;
      case GrpcParser::Event::end: {
        if (payload.find(kValue) != std::string::npos) return true;
        if (!parser.prefix().is_compressed()) break;
        Decoder decoder({coding});
        decoder.feed(payload);
        decoder.finish();
        std::string text;
        while (text.size() < 1U << 20U && decoder.next() == Decoder::Event::piece)
          text += decoder.piece();
        if (text.find(kValue) != std::string::npos) return true;
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const MaskSet same(std::vector<MaskSet::Entry>{{kValue, kSame, "s"}});
  static const MaskSet longer(std::vector<MaskSet::Entry>{{kValue, kLonger, "s"}});
  const std::uint8_t how = data[0];
  const MaskSet& set = (how & 16U) != 0 ? longer : same;
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Left whole = pass(set, how, all, all.empty() ? 1 : all.size());
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5}}) {
    const Left split = pass(set, how, all, piece);
    if (split.failure != whole.failure || split.body != whole.body) std::abort();
  }
  const auto compression = static_cast<GrpcMask::Compression>(how & 3U);
  const bool deflate = compression == GrpcMask::Compression::deflate;
  const bool can_undo = deflate || compression == GrpcMask::Compression::gzip;
  const Coding coding = deflate ? Coding::deflate : Coding::gzip;
  if (can_undo && tells(whole.body, coding)) std::abort();
  if (!can_undo && whole.body.find(kValue) != std::string::npos) {
    GrpcParser parser;  // a value over two messages is none
    std::string_view rest = whole.body;
    std::string payload;
    for (auto event = parser.next(rest);
         event != GrpcParser::Event::need_more && event != GrpcParser::Event::malformed;
         event = parser.next(rest)) {
      if (event == GrpcParser::Event::prefix) payload.clear();
      if (event == GrpcParser::Event::payload) payload += parser.payload();
      if (payload.find(kValue) != std::string::npos) std::abort();
    }
  }
  return 0;
}
