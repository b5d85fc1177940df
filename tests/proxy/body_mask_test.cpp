// A body on its way through the mask: undone, searched, coded again; what must be refused.
#include "proxy/body_mask.hpp"

#include "tests/http/coded.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;

namespace {

const std::string kValue = "sk-REALvalue0123";
const std::string kStands = "sk-PLACEHOLDER01";
const std::string kLonger = "sk-PLACEHOLDER01-and-more";
const std::string kSecretText = "before " + kValue + " after " + kValue;
const std::string kMaskedText = "before " + kStands + " after " + kStands;

using Holding = Masker::Holding;
const std::vector<std::vector<Coding>> kStacks = {
    {Coding::gzip}, {Coding::deflate},          {Coding::br},
    {Coding::zstd}, {Coding::gzip, Coding::br}, {Coding::zstd, Coding::deflate, Coding::gzip}};

MaskSet masks(const std::string& placeholder = kStands) {
  return MaskSet(std::vector<MaskSet::Entry>{{kValue, placeholder, "openai"}});
}

MaskPlan coded(std::vector<Coding> codings) {
  MaskPlan plan;
  plan.undone = std::move(codings);
  return plan;
}

// What leaves of `pieces`, or "failed: …".
std::string pass(BodyMask& mask, const std::vector<std::string_view>& pieces) {
  std::string out;
  for (const std::string_view piece : pieces) {
    out += mask.feed(piece);
    while (mask.has_more()) out += mask.more();
  }
  out += mask.finish();
  return mask.failure().empty() ? out : "failed: " + mask.failure();
}

ResponseHead head(int status, const std::vector<HeaderField>& list) {
  ResponseHead made;
  made.status = status;
  for (const HeaderField& field : list) made.fields.add(field.name, field.value);
  return made;
}

constexpr Framing kNone{};
constexpr Framing kChunked{Framing::Kind::chunked, 0};
constexpr Framing kZero{Framing::Kind::length, 0};

}  // namespace

TEST_CASE("a coded body is masked and leaves in the same codings, wherever it is cut") {
  const MaskSet set = masks();
  for (const auto& stack : kStacks) {
    const std::string body = encode(stack, kSecretText);
    for (const Holding holding : {Holding::beginnings, Holding::words}) {
      at_every_split(body, [&](const auto& pieces) {
        BodyMask mask(set, holding, coded(stack));
        const std::string left = pass(mask, pieces);
        REQUIRE(decode(stack, {left}) == kMaskedText + "|end");
        REQUIRE(mask.counts().size() == 1);
        REQUIRE(mask.counts()[0].count == 2);
      });
    }
  }
}

TEST_CASE("a placeholder of another length is no matter to a coded body") {
  const MaskSet set = masks(kLonger);
  BodyMask mask(set, Holding::beginnings, coded({Coding::br}));
  const std::string left = pass(mask, {encode({Coding::br}, kSecretText)});
  CHECK(decode({Coding::br}, {left}) == "before " + kLonger + " after " + kLonger + "|end");
}

TEST_CASE("a coded body of no bytes stays one, and an empty text stays coded") {
  const MaskSet set = masks();
  for (const auto& stack : kStacks) {
    BodyMask none(set, Holding::words, coded(stack));
    CHECK(pass(none, {}).empty());
    BodyMask empty(set, Holding::words, coded(stack));
    CHECK(decode(stack, {pass(empty, {encode(stack, "")})}) == "|end");
  }
}

TEST_CASE("without anything to mask the bytes pass as they came") {
  const MaskSet set{std::vector<MaskSet::Entry>{}};
  BodyMask mask(set, Holding::words, coded({Coding::gzip}));
  const std::string body = "not even gzip";
  const std::string_view left = mask.feed(body);
  CHECK(left.data() == body.data());
  CHECK(left == body);
  CHECK(mask.finish().empty());
  CHECK(mask.failure().empty());
}

TEST_CASE("a malformed body and one that breaks off fail; nothing leaves after that") {
  const MaskSet set = masks();
  for (const auto& stack : kStacks) {
    const std::string body = encode(stack, kSecretText);
    for (std::size_t size = 1; size < body.size(); ++size) {
      BodyMask mask(set, Holding::beginnings, coded(stack));
      REQUIRE(pass(mask, {std::string_view(body).substr(0, size)}) ==
              "failed: the coded body breaks off");
    }
    // Not coded at all. What follows is asked of a mask that has failed.
    BodyMask mask(set, Holding::beginnings, coded({Coding::gzip}));
    CHECK(mask.feed(kSecretText).empty());
    CHECK(mask.failure() == "the coded body is malformed");
    CHECK_FALSE(mask.has_more());
    CHECK(mask.feed(body).empty());
    CHECK(mask.flush().empty());
    CHECK(mask.finish().empty());
  }
}

TEST_CASE("an event leaves with the flush before a wait") {
  const MaskSet set = masks();
  for (const auto& stack : kStacks) {
    Encoder origin(stack);
    Decoder client(stack);
    BodyMask mask(set, Holding::words, coded(stack));
    for (int i = 0; i < 20; ++i) {
      std::string event;
      origin.write("data: " + std::to_string(i) + " " + kValue + "\n\n", event);
      origin.flush(event);
      std::string left(mask.feed(event));
      while (mask.has_more()) left += mask.more();
      left += mask.flush();
      CHECK(mask.flush().empty());
      std::string seen;
      client.feed(left);
      while (client.next() == Decoder::Event::piece) seen += client.piece();
      REQUIRE(seen == "data: " + std::to_string(i) + " " + kStands + "\n\n");
      REQUIRE_FALSE(mask.holds_a_word());
    }
  }
}

TEST_CASE("a word that waits leaves when it is released, and what was held is searched anew") {
  const MaskSet set = masks();
  Encoder origin({Coding::gzip});
  Decoder client({Coding::gzip});
  BodyMask mask(set, Holding::words, coded({Coding::gzip}));
  std::string piece;
  origin.write("say: sk-REAL", piece);
  origin.flush(piece);
  std::string left(mask.feed(piece));
  left += mask.flush();
  CHECK(mask.holds_a_word());
  std::string seen;
  const auto read = [&](std::string_view bytes) {
    client.feed(bytes);
    while (client.next() == Decoder::Event::piece) seen += client.piece();
  };
  read(left);
  CHECK(seen == "say: ");
  const std::string word(mask.release());
  read(word);
  CHECK(seen == "say: sk-REAL");
  CHECK_FALSE(mask.holds_a_word());
  piece.clear();
  origin.write(" and " + kValue + ".", piece);
  origin.finish(piece);
  const std::string rest(mask.feed(piece));
  const std::string last(mask.finish());
  read(rest + last);
  CHECK(seen == "say: sk-REAL and " + kStands + ".");
}

TEST_CASE("a bomb is worked off in bounded parts, and what leaves of one is bounded too") {
  const MaskSet set = masks();
  for (const Coding coding : kEach) {
    Encoder origin({coding});
    const std::string zeros(std::size_t{1} << 20U, '\0');
    std::string bomb;
    for (int i = 0; i < 64; ++i) origin.write(zeros, bomb);
    origin.finish(bomb);
    BodyMask mask(set, Holding::words, coded({coding}));
    std::size_t largest = mask.feed(bomb).size();
    std::size_t parts = 1;
    for (; mask.has_more(); ++parts) largest = std::max(largest, mask.more().size());
    CHECK(parts >= 64 * 4);
    CHECK(largest <= 64U << 10U);
    (void)mask.finish();
    CHECK(mask.failure().empty());
  }
}

TEST_CASE("what is to be done follows from the head, the origin and what there is to mask") {
  const MaskSet set = masks();
  const MaskSet nothing{std::vector<MaskSet::Entry>{}};
  const auto gzip = head(200, {{"Content-Encoding", "gzip"}});
  const auto odd = head(200, {{"Content-Encoding", "x-private"}});
  CHECK(plan_mask(gzip, kChunked, set, MayKnow::yes).undone == std::vector<Coding>{Coding::gzip});
  CHECK(plan_mask(gzip, kChunked, set, MayKnow::no).recodes());
  CHECK_FALSE(plan_mask(gzip, kChunked, nothing, MayKnow::no).recodes());
  CHECK_FALSE(plan_mask(head(200, {}), kChunked, set, MayKnow::yes).recodes());
  // What cannot be undone.
  CHECK_FALSE(plan_mask(odd, kChunked, set, MayKnow::yes).refused.empty());
  CHECK(plan_mask(odd, kChunked, set, MayKnow::no).refused.empty());
  CHECK_FALSE(plan_mask(odd, kChunked, set, MayKnow::no).recodes());
  CHECK(plan_mask(odd, kChunked, nothing, MayKnow::no).refused.empty());
  // Without a body there is nothing to refuse, and the length of it that a head tells is not the one.
  CHECK(plan_mask(odd, kNone, set, MayKnow::yes).refused.empty());
  CHECK(plan_mask(gzip, kNone, set, MayKnow::yes).recodes());
  CHECK_FALSE(plan_mask(gzip, kZero, set, MayKnow::yes).recodes());
  CHECK(plan_mask(odd, kZero, set, MayKnow::yes).refused.empty());
  // A part of a coding cannot be undone.
  const auto part = head(206, {{"Content-Encoding", "gzip"}});
  CHECK_FALSE(plan_mask(part, kChunked, set, MayKnow::yes).refused.empty());
  CHECK(plan_mask(part, kChunked, set, MayKnow::no).refused.empty());
  CHECK_FALSE(plan_mask(part, kChunked, set, MayKnow::no).recodes());
}

TEST_CASE("a text whose coding is only claimed is searched as it is") {
  const MaskSet set = masks();
  const MaskPlan plan =
      plan_mask(head(200, {{"Content-Encoding", "x-private"}}), kChunked, set, MayKnow::no);
  BodyMask mask(set, Holding::words, plan);
  CHECK(pass(mask, {kSecretText}) == kMaskedText);
}

TEST_CASE("gRPC under a content coding: both are undone") {
  const MaskSet set = masks();
  MaskPlan plan = coded({Coding::br});
  plan.grpc = true;
  plan.compression = GrpcMask::Compression::gzip;
  const auto message = [](const std::string& text) {
    const std::string packed = encode({Coding::gzip}, text);
    std::string out;
    write_grpc_prefix(out, {1, static_cast<std::uint32_t>(packed.size())});
    return out + packed;
  };
  const std::string body = encode({Coding::br}, message(kSecretText));
  at_every_split(body, [&](const auto& pieces) {
    BodyMask mask(set, Holding::beginnings, plan);
    const std::string left = decode({Coding::br}, {pass(mask, pieces)});
    REQUIRE(left.ends_with("|end"));
    REQUIRE(decode({Coding::gzip}, {left.substr(5, left.size() - 9)}) == kMaskedText + "|end");
  });
}
