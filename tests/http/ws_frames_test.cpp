#include "http/ws_frames.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using Event = WsParser::Event;
using Sender = WsParser::Sender;

namespace {

constexpr WsKey kKey{'\x11', '\x22', '\x33', '\x44'};

std::string bytes(std::initializer_list<unsigned> list) {
  std::string out;
  for (const unsigned byte : list) out.push_back(static_cast<char>(byte));
  return out;
}

std::string head(const WsHeader& header) {
  std::string out;
  write_ws_header(out, header);
  return out;
}

std::string frame(bool fin, WsOpcode opcode, std::string payload,
                  std::optional<WsKey> key = std::nullopt) {
  const std::string start = head({fin, opcode, key, payload.size()});
  if (key) apply_ws_key(payload.data(), payload.size(), *key, 0);
  return start + payload;
}

// "F1:5[hello]" for each frame (F: fin, its opcode, its length, a key as k), then "error WORDS" or what is unfinished.
std::string parse(Sender sender, const std::vector<std::string_view>& pieces) {
  WsParser parser(sender);
  std::string out;
  for (std::string_view in : pieces) {
    for (bool more = true; more;) {
      switch (parser.next(in)) {
        case Event::need_more: more = false; break;
        case Event::header: {
          const WsHeader& seen = parser.header();
          out += seen.fin ? "F" : "f";
          out += std::to_string(static_cast<int>(seen.opcode)) + (seen.key ? "k:" : ":");
          out += std::to_string(seen.length) + "[";
          break;
        }
        case Event::payload: {
          REQUIRE_FALSE(parser.payload().empty());
          std::string text(parser.payload());
          const WsHeader& seen = parser.header();
          const std::uint64_t offset = seen.length - parser.left() - text.size();
          if (seen.key) apply_ws_key(text.data(), text.size(), *seen.key, offset);
          out += text;
          break;
        }
        case Event::end: out += "]"; break;
        case Event::error: return out + "error " + std::string(to_string(parser.error()));
      }
    }
    REQUIRE(in.empty());
  }
  return out;
}

void check(Sender sender, const std::string& wire, const std::string& expected) {
  CAPTURE(expected);
  test::at_every_split(wire,
                       [&](const auto& pieces) { REQUIRE(parse(sender, pieces) == expected); });
}

}  // namespace

TEST_CASE("frames of a server are read at every split") {
  check(Sender::server, frame(true, WsOpcode::text, "hello"), "F1:5[hello]");
  check(Sender::server, frame(true, WsOpcode::binary, "") + frame(true, WsOpcode::text, "x"),
        "F2:0[]F1:1[x]");
  const std::string fragmented =
      frame(false, WsOpcode::text, "he") + frame(true, WsOpcode::ping, "p") +
      frame(false, WsOpcode::continuation, "l") + frame(true, WsOpcode::pong, "") +
      frame(true, WsOpcode::continuation, "lo");
  check(Sender::server, fragmented, "f1:2[he]F9:1[p]f0:1[l]F10:0[]F0:2[lo]");
  check(Sender::server,
        frame(true, WsOpcode::close,
              "\x03\xe8"
              "bye"),
        "F8:5[\x03\xe8"
        "bye]");
  check(Sender::server, frame(true, WsOpcode::close, ""), "F8:0[]");
}

TEST_CASE("frames of a client are read and unmasked at every split") {
  check(Sender::client, frame(true, WsOpcode::text, "hello, world", kKey), "F1k:12[hello, world]");
  check(Sender::client, frame(true, WsOpcode::ping, "", kKey), "F9k:0[]");
}

TEST_CASE("lengths of every size are read, and written back as they were") {
  for (const std::size_t size : {0U, 1U, 125U, 126U, 127U, 65535U, 65536U, 70000U}) {
    CAPTURE(size);
    for (const bool masked : {false, true}) {
      const WsHeader header{true, WsOpcode::binary,
                            masked ? std::optional<WsKey>(kKey) : std::nullopt, size};
      const std::string wire = head(header);
      const std::size_t length = size < 126 ? 0 : size < 65536 ? 2 : 8;
      CHECK(wire.size() == 2 + length + (masked ? 4 : 0));
      WsParser parser(masked ? Sender::client : Sender::server);
      std::string_view in = wire;
      REQUIRE(parser.next(in) == Event::header);
      CHECK(parser.header() == header);
      CHECK(parser.left() == size);
      CHECK(in.empty());
    }
  }
  WsParser parser(Sender::server);
  const std::string largest = head({true, WsOpcode::binary, std::nullopt, kMaxWsLength});
  std::string_view in = largest;
  REQUIRE(parser.next(in) == Event::header);
  CHECK(parser.left() == kMaxWsLength);
  CHECK(parser.next(in) == Event::need_more);
}

TEST_CASE("a frame that is malformed is refused, whatever way it comes") {
  const std::string good = frame(true, WsOpcode::text, "ok");
  const auto refused = [&](const std::string& wire, const char* why) {
    check(Sender::server, good + wire, "F1:2[ok]error " + std::string(why));
  };
  for (const unsigned bit : {0x40U, 0x20U, 0x10U})
    refused(bytes({0x81 | bit, 0}), "reserved bits are set");
  for (const unsigned opcode : {3U, 4U, 5U, 6U, 7U, 11U, 12U, 13U, 14U, 15U})
    refused(bytes({0x80 | opcode, 0}), "unknown opcode");
  for (const unsigned opcode : {8U, 9U, 10U}) {
    refused(bytes({opcode, 0}), "a control frame in fragments");
    refused(bytes({0x80 | opcode, 126, 0, 126}), "a control frame of more than 125 bytes");
    refused(bytes({0x80 | opcode, 127, 0, 0, 0, 0, 0, 1, 0, 0}),
            "a control frame of more than 125 bytes");
  }
  refused(bytes({0x88, 1, 3}), "a Close of one byte");
  refused(bytes({0x80, 1, 'x'}), "a continuation of no message");
  refused(bytes({0x00, 1, 'x'}), "a continuation of no message");
  refused(bytes({0x81, 0x80, 1, 2, 3, 4}), "masked by a server, or not masked by a client");
  const std::string length = "a length that is not in its shortest form, or too large";
  refused(bytes({0x82, 126, 0, 125}), length.c_str());
  refused(bytes({0x82, 126, 0, 0}), length.c_str());
  refused(bytes({0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff}), length.c_str());
  refused(bytes({0x82, 127, 0, 0, 0, 0, 0, 0, 0, 5}), length.c_str());
  refused(bytes({0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0}), length.c_str());
  refused(bytes({0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), length.c_str());
}

TEST_CASE("a client that does not mask is refused") {
  check(Sender::client, frame(true, WsOpcode::text, "hello"),
        "error masked by a server, or not masked by a client");
}

TEST_CASE("a message inside another is refused, and one after its last fragment is not") {
  const std::string begun = frame(false, WsOpcode::text, "a");
  for (const WsOpcode next : {WsOpcode::text, WsOpcode::binary}) {
    for (const bool fin : {false, true}) {
      check(Sender::server, begun + frame(fin, next, "b"),
            "f1:1[a]error a new message inside another");
    }
  }
  check(Sender::server,
        begun + frame(true, WsOpcode::continuation, "") + frame(true, WsOpcode::text, "b"),
        "f1:1[a]F0:0[]F1:1[b]");
}

TEST_CASE("after an error nothing more is read") {
  WsParser parser(Sender::server);
  const std::string wire = bytes({0xff, 0x00});
  std::string_view in = wire;
  REQUIRE(parser.next(in) == Event::error);
  const std::string good = frame(true, WsOpcode::text, "ok");
  in = good;
  CHECK(parser.next(in) == Event::error);
  CHECK(in == good);
}

TEST_CASE("payload is a view into the input, not a copy") {
  WsParser parser(Sender::server);
  const std::string wire = frame(true, WsOpcode::text, "hello");
  std::string_view in = wire;
  REQUIRE(parser.next(in) == Event::header);
  REQUIRE(parser.next(in) == Event::payload);
  CHECK(parser.payload().data() == wire.data() + 2);
  CHECK_FALSE(parser.is_between_frames());
  REQUIRE(parser.next(in) == Event::end);
  CHECK(parser.is_between_frames());
}

TEST_CASE("a key applies by the place in the frame") {
  std::string whole = "The quick brown fox";
  std::string parts = whole;
  apply_ws_key(whole.data(), whole.size(), kKey, 0);
  for (std::size_t at = 0, size = 1; at < parts.size(); at += size, size = size % 5 + 1) {
    apply_ws_key(parts.data() + at, std::min(size, parts.size() - at), kKey, at);
  }
  CHECK(parts == whole);
  CHECK(whole[0] == ('T' ^ '\x11'));
  CHECK(whole[5] == ('u' ^ '\x22'));
}
