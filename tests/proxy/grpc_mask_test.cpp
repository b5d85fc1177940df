// gRPC bodies through the mask: compressed messages too, lengths put right, complete messages at once.
#include "proxy/grpc_mask.hpp"

#include "tests/http/coded.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;
using namespace std::string_literals;

namespace {

using Compression = GrpcMask::Compression;
using Unreadable = GrpcMask::Unreadable;
using Holding = Masker::Holding;

const std::string kValue = "sk-REALvalue0123";
const std::string kStands = "sk-PLACEHOLDER01";
const std::string kLonger = "sk-PLACEHOLDER01-and-more";

MaskSet masks(const std::string& placeholder = kStands) {
  return MaskSet(std::vector<MaskSet::Entry>{{kValue, placeholder, "openai"}});
}

std::string message(std::string_view bytes, std::uint8_t flags = 0) {
  std::string out;
  write_grpc_prefix(out, {flags, static_cast<std::uint32_t>(bytes.size())});
  return out.append(bytes);
}
std::string packed(Coding coding, std::string_view text) {
  return message(encode({coding}, text), 1);
}

std::string pass(GrpcMask& mask, const std::vector<std::string_view>& pieces) {
  std::string out;
  for (const std::string_view piece : pieces) {
    mask.feed(piece);
    while (mask.pump(out, 16384)) {
    }
  }
  (void)mask.finish(out);
  return mask.failure().empty() ? out : "failed: " + mask.failure();
}

std::string pass(const MaskSet& set, Compression compression, std::string_view body,
                 Unreadable unreadable = Unreadable::refused) {
  GrpcMask mask(set, Holding::beginnings, compression, unreadable);
  return pass(mask, {body});
}

// The texts of all messages, unpacked, each behind its flags.
std::string texts(Coding coding, std::string_view body) {
  GrpcParser parser;
  std::string seen;
  std::string payload;
  for (;;) {
    switch (parser.next(body)) {
      case GrpcParser::Event::need_more: return seen + (parser.is_between() ? "" : "…");
      case GrpcParser::Event::malformed: return seen + "malformed";
      case GrpcParser::Event::prefix: payload.clear(); break;
      case GrpcParser::Event::payload: payload += parser.payload(); break;
      case GrpcParser::Event::end:
        seen += std::to_string(parser.prefix().flags) + ":";
        seen += parser.prefix().is_compressed() ? decode({coding}, {payload}) : payload;
        seen += ';';
        break;
    }
  }
}

}  // namespace

TEST_CASE("plain gRPC messages are masked one by one, wherever they are cut") {
  const MaskSet set = masks();
  const std::string body = message("a " + kValue) + message("") + message(kValue + kValue);
  const std::string left = message("a " + kStands) + message("") + message(kStands + kStands);
  for (const Holding holding : {Holding::beginnings, Holding::words}) {
    at_every_split(body, [&](const auto& pieces) {
      GrpcMask mask(set, holding, Compression::none, Unreadable::refused);
      REQUIRE(pass(mask, pieces) == left);
      REQUIRE(mask.counts().at(0).count == 3);
    });
  }
}

TEST_CASE("a value over two messages is none: a prefix stands between") {
  const std::string body = message(kValue.substr(0, 9)) + message(kValue.substr(9));
  CHECK(pass(masks(), Compression::none, body) == body);
}

TEST_CASE("a prefix tells the length that a placeholder of another length gives its message") {
  const MaskSet set = masks(kLonger);
  const std::string body =
      message("a " + kValue + " b") + message("nothing") + message(kValue, 0x80);
  const std::string left =
      message("a " + kLonger + " b") + message("nothing") + message(kLonger, 0x80);
  at_every_split(body, [&](const auto& pieces) {
    GrpcMask mask(set, Holding::words, Compression::none, Unreadable::refused);
    REQUIRE(pass(mask, pieces) == left);
  });
}

TEST_CASE("compressed messages are searched; without a value they leave to the byte") {
  struct Kind {
    Compression compression;
    Coding coding;
    std::string sample;
  };
  const std::vector<Kind> kinds = {{Compression::gzip, Coding::gzip, kNamedGzip},
                                   {Compression::deflate, Coding::deflate, kDeflate}};
  const MaskSet set = masks();
  for (const Kind& kind : kinds) {
    const std::string first = message(kind.sample, 1);
    const std::string body = first + packed(kind.coding, "the value " + kValue) +
                             message("plain " + kValue) + message("", 1);
    at_every_split(body, [&](const auto& pieces) {
      GrpcMask mask(set, Holding::words, kind.compression, Unreadable::refused);
      const std::string left = pass(mask, pieces);
      REQUIRE(left.starts_with(first));
      REQUIRE(texts(kind.coding, left) == "1:" + kText + "|end;1:the value " + kStands +
                                              "|end;0:plain " + kStands + ";1:|end;");
    });
  }
}

TEST_CASE("a value beside the compressed text does not leave with it") {
  // In the name that a gzip head may hold, and behind its end.
  const std::string named = "\x1f\x8b\x08\x08\0\0\0\0\x02\xff"s + kValue + '\0' + kGzip.substr(10);
  REQUIRE(decode({Coding::gzip}, {named}) == kText + "|end");
  for (const std::string& bytes : {named, kGzip + kValue, kGzip + "x"}) {
    const std::string left = pass(masks(), Compression::gzip, message(bytes, 1));
    CHECK(left.find(kValue) == std::string::npos);
    CHECK(texts(Coding::gzip, left) == "1:" + kText + "|end;");
  }
}

TEST_CASE("a complete message leaves at once") {
  const MaskSet set = masks(kLonger);
  GrpcMask mask(set, Holding::words, Compression::gzip, Unreadable::refused);
  for (const std::string& one : {message("ends in a word"), packed(Coding::gzip, "another")}) {
    std::string out;
    mask.feed(one);
    while (mask.pump(out, 16384)) {
    }
    CHECK(out == one);
  }
}

TEST_CASE("a compression that cannot be undone is refused from an origin that may know a value") {
  const std::string body = message("opaque", 1);
  const std::string refused = "failed: a gRPC message is compressed in a way that cannot be undone";
  for (const Compression compression : {Compression::unknown, Compression::none}) {
    CHECK(pass(masks(), compression, body) == refused);
    CHECK(pass(masks(), compression, body, Unreadable::passes) == body);
  }
  CHECK(pass(masks(), Compression::unknown, message("x " + kValue)) == message("x " + kStands));
}

TEST_CASE("what is malformed, cut or too large fails") {
  const std::string malformed = "failed: a compressed gRPC message is malformed";
  const std::string cut = "failed: the body ends within a gRPC message";
  const MaskSet set = masks();
  CHECK(pass(set, Compression::gzip, message("not gzip", 1)) == malformed);
  CHECK(pass(set, Compression::gzip, message(kGzip.substr(0, 20), 1)) == malformed);
  CHECK(pass(set, Compression::gzip, message(kGzip, 1).substr(0, 20)) == cut);
  CHECK(pass(set, Compression::gzip, message("x").substr(0, 3)) == cut);
  CHECK(pass(masks(kLonger), Compression::none, message("xyz").substr(0, 6)) == cut);
  CHECK(pass(set, Compression::none, message("xyz").substr(0, 6)) == message("xyz").substr(0, 6));
  CHECK(pass(set, Compression::none, "\x02\0\0\0\0"s) == "failed: a gRPC message is malformed");
  const std::string whole = "failed: a gRPC message that must be known whole is longer than 4 MiB";
  std::string prefix;
  write_grpc_prefix(prefix, {1, GrpcMask::kMaxHeld + 1});
  CHECK(pass(set, Compression::gzip, prefix) == whole);
  prefix[0] = 0;
  CHECK(pass(masks(kLonger), Compression::none, prefix) == whole);
  CHECK(pass(set, Compression::none, prefix) == prefix);  // streamed
}

TEST_CASE("a bomb in a message ends at 64 MiB; one below it passes as it came") {
  Encoder encoder({Coding::gzip});
  std::string bomb;
  const std::string zeros(std::size_t{1} << 20U, '\0');
  for (int i = 0; i < 64; ++i) encoder.write(zeros, bomb);
  std::string fits = bomb;
  {
    Encoder again({Coding::gzip});
    fits.clear();
    for (int i = 0; i < 64; ++i) again.write(zeros, fits);
    again.finish(fits);
  }
  encoder.write("x", bomb);
  encoder.finish(bomb);
  CHECK(pass(masks(), Compression::gzip, message(bomb, 1)) ==
        "failed: a compressed gRPC message unfolds into more than 64 MiB");
  CHECK(pass(masks(), Compression::gzip, message(fits, 1)) == message(fits, 1));
}

TEST_CASE("the field that names the compression") {
  const auto named = [](const std::vector<std::string>& values) {
    HeaderList fields;
    for (const std::string& value : values) fields.add("grpc-encoding", value);
    return GrpcMask::compression_of(fields);
  };
  CHECK(named({}) == Compression::none);
  CHECK(named({"identity"}) == Compression::none);
  CHECK(named({"gzip"}) == Compression::gzip);
  CHECK(named({"Deflate"}) == Compression::deflate);
  CHECK(named({"snappy"}) == Compression::unknown);
  CHECK(named({"gzip", "gzip"}) == Compression::unknown);
}
