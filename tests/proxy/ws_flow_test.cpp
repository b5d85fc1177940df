#include "proxy/ws_flow.hpp"

#include <algorithm>

#include "tests/secrets/session.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using Outcome = WsFlow::Outcome;
using Sender = WsParser::Sender;

namespace {

// test::Session has a secret that changes lengths; here each test says whether there is one.
struct OneSecret {
  explicit OneSecret(std::string secret = "ghp_REALabcdefghijklmnopqrstuvwxyz012345")
      : value(std::move(secret)),
        ph(make_placeholder(value, random)),
        secrets({test::credential("github", value, ph)}, {test::grant("github", "api.test")}) {}

  test::SeededRandom random{56};
  std::string value;
  std::string ph;
  SessionSecrets secrets;
};

constexpr WsKey kKey{'\x37', '\xfa', '\x21', '\x3d'};

std::string frame(bool fin, WsOpcode opcode, std::string payload,
                  std::optional<WsKey> key = std::nullopt) {
  std::string out;
  write_ws_header(out, {fin, opcode, key, payload.size()});
  if (key) apply_ws_key(payload.data(), payload.size(), *key, 0);
  return out + payload;
}
std::string up(bool fin, WsOpcode opcode, std::string payload) {
  return frame(fin, opcode, std::move(payload), kKey);
}

struct Passed {
  Outcome outcome = Outcome::more;
  std::string out;
};

// As the two coroutines do: what is left of one piece stands before the next.
Passed pass(WsFlow& flow, const std::vector<std::string_view>& pieces) {
  Passed passed;
  std::string held;
  for (const std::string_view piece : pieces) {
    held += piece;
    std::string_view in = held;
    std::string out;
    passed.outcome = flow.pass(in, out);
    if (passed.outcome == Outcome::hit) break;  // `out` does not leave
    passed.out += out;
    if (passed.outcome != Outcome::more) break;
    REQUIRE(in.size() < WsFlow::kPiece);
    held.erase(0, held.size() - in.size());
  }
  return passed;
}

// Each message of a stream of frames, or "(n)" before the payload of control frame n.
std::string messages(const std::string& wire, Sender sender, std::size_t* frames = nullptr) {
  WsParser parser(sender);
  std::string_view in = wire;
  std::string out;
  for (;;) {
    switch (parser.next(in)) {
      case WsParser::Event::need_more: return out;
      case WsParser::Event::error: return out + "ERROR";
      case WsParser::Event::header:
        if (frames != nullptr) ++*frames;
        if (is_control(parser.header().opcode))
          out += "(" + std::to_string(static_cast<int>(parser.header().opcode)) + ")";
        break;
      case WsParser::Event::payload: {
        std::string text(parser.payload());
        const WsHeader& seen = parser.header();
        const std::uint64_t offset = seen.length - parser.left() - text.size();
        if (seen.key) apply_ws_key(text.data(), text.size(), *seen.key, offset);
        out += text;
        break;
      }
      case WsParser::Event::end:
        if (parser.header().fin && !is_control(parser.header().opcode)) out += "|";
        break;
    }
  }
}

Passed pass_up(const OneSecret& session, const std::vector<std::string_view>& pieces) {
  WsTripwire wire(session.secrets);
  WsFlow flow(Sender::client, wire);
  return pass(flow, pieces);
}
Passed pass_down(const OneSecret& session, const std::vector<std::string_view>& pieces,
                 Masker::Holding holding = Masker::Holding::beginnings) {
  WsMask mask(session.secrets.mask_set(), holding);
  WsFlow flow(Sender::server, mask);
  return pass(flow, pieces);
}

// Values shorter than their placeholders: lengths change.
const std::string kShort = "hunter2-of-me";

}  // namespace

TEST_CASE("frames without a secret leave to the byte as they came") {
  const OneSecret session;
  const std::string wire = up(true, WsOpcode::text, "hello") + up(false, WsOpcode::binary, "a, ") +
                           up(true, WsOpcode::ping, "are you there?") +
                           up(false, WsOpcode::continuation, "") +
                           up(true, WsOpcode::continuation, "b.") + up(true, WsOpcode::pong, "") +
                           up(true, WsOpcode::text, std::string(300, 'x'));
  test::at_every_split(wire, [&](const auto& pieces) {
    const Passed passed = pass_up(session, pieces);
    REQUIRE(passed.outcome == Outcome::more);
    REQUIRE(passed.out == wire);
  });
  const std::string down = frame(false, WsOpcode::text, "a, ") + frame(true, WsOpcode::ping, "p") +
                           frame(true, WsOpcode::continuation, "b.") +
                           frame(true, WsOpcode::binary, std::string(200, 'x'));
  test::at_every_split(
      down, [&](const auto& pieces) { REQUIRE(pass_down(session, pieces).out == down); });
}

TEST_CASE("BR-037 a placeholder in a message is found at every split, and never leaves whole") {
  const OneSecret session;
  const std::string message = R"({"op":2,"d":{"token":")" + session.ph + R"("}})";
  const std::string before = up(true, WsOpcode::text, "first");
  const auto check = [&](const std::string& wire) {
    test::at_every_split(wire, [&](const auto& pieces) {
      const Passed passed = pass_up(session, pieces);
      REQUIRE(passed.outcome == Outcome::hit);
      REQUIRE(messages(passed.out, Sender::client).find(session.ph) == std::string::npos);
    });
  };
  check(before + up(true, WsOpcode::text, message));
  const std::size_t inside = message.find(session.ph) + 7;
  const std::string start = up(false, WsOpcode::text, message.substr(0, inside));
  const std::string rest = up(true, WsOpcode::continuation, message.substr(inside));
  check(start + rest);
  check(start + up(true, WsOpcode::ping, "now?") + rest);
  check(before + up(true, WsOpcode::ping, session.ph));
  check(before + up(true, WsOpcode::close, "\x0f\xa0" + session.ph));
}

TEST_CASE("BR-037 halves of a placeholder in two messages are no placeholder") {
  const OneSecret session;
  const std::string wire = up(true, WsOpcode::text, session.ph.substr(0, 20)) +
                           up(true, WsOpcode::text, session.ph.substr(20));
  const Passed passed = pass_up(session, {wire});
  CHECK(passed.outcome == Outcome::more);
  CHECK(passed.out == wire);
}

TEST_CASE("what may become a placeholder moves into the next fragment") {
  const OneSecret session;
  const std::string start = session.ph.substr(0, 9);
  const std::string wire = up(false, WsOpcode::text, "see " + start) +
                           up(true, WsOpcode::ping, "p") +
                           up(true, WsOpcode::continuation, " and so on");
  const std::string expected = up(false, WsOpcode::text, "see ") + up(true, WsOpcode::ping, "p") +
                               up(true, WsOpcode::continuation, start + " and so on");
  test::at_every_split(
      wire, [&](const auto& pieces) { REQUIRE(pass_up(session, pieces).out == expected); });
}

namespace {

struct WsPlace {
  explicit WsPlace(std::string secret = "ghp_REALabcdefghijklmnopqrstuvwxyz012345",
                   unsigned max = 1)
      : value(std::move(secret)),
        ph(make_placeholder(value, random)),
        secrets({test::credential("github", value, ph)}, {granted(max)}),
        plan(plan_messages(test::at("api.test"), secrets)) {}
  static Grant granted(unsigned max) {
    Grant grant = test::grant("github", "api.test", {{Place::Kind::ws, ""}});
    grant.max = max;
    return grant;
  }
  test::SeededRandom random{56};
  std::string value;
  std::string ph;
  SessionSecrets secrets;
  BodyPlan plan;
};

struct Swapped {
  Outcome outcome = Outcome::more;
  std::string out;
  std::uint64_t count = 0;
  Reason reason = Reason::none;
};
Swapped swap_up(const WsPlace& session, const std::vector<std::string_view>& pieces) {
  WsTripwire wire(session.secrets, session.plan);
  WsFlow flow(Sender::client, wire);
  const Passed passed = pass(flow, pieces);
  Swapped swapped{passed.outcome, passed.out};
  for (const auto& each : wire.take_counts()) {
    CHECK(each.place == "ws");
    swapped.count += each.count;
  }
  if (const auto refused = wire.refusal()) swapped.reason = refused->reason;
  return swapped;
}

}  // namespace

TEST_CASE("BR-057: a placeholder in a message is swapped where ws is granted, at every split") {
  for (const std::string value : {"ghp_REALabcdefghijklmnopqrstuvwxyz012345", "hunter2-of-me"}) {
    const WsPlace session(value);
    const auto text = [&](const std::string& token) { return "{\"token\":\"" + token + "\"}"; };
    const std::string message = text(session.ph);
    const std::size_t inside = message.find(session.ph) + 7;
    const std::string whole =
        up(true, WsOpcode::text, message) + up(true, WsOpcode::binary, message);
    const std::string fragments = up(false, WsOpcode::text, message.substr(0, inside)) +
                                  up(true, WsOpcode::ping, "now?") +
                                  up(true, WsOpcode::continuation, message.substr(inside));
    test::at_every_split(whole, [&](const auto& pieces) {
      const Swapped swapped = swap_up(session, pieces);
      REQUIRE(messages(swapped.out, Sender::client) == text(value) + "|" + text(value) + "|");
      REQUIRE(swapped.count == 2);
    });
    test::at_every_split(fragments, [&](const auto& pieces) {
      const Swapped swapped = swap_up(session, pieces);
      REQUIRE(swapped.outcome == Outcome::more);
      const std::string got = messages(swapped.out, Sender::client);
      REQUIRE(got.find("(9)now?") != std::string::npos);
      std::string without = got;
      without.erase(without.find("(9)now?"), 7);
      REQUIRE(without == text(value) + "|");
    });
  }
}

TEST_CASE("ws: once in a message, never in a control frame, not what would break JSON in a text") {
  const WsPlace session;
  CHECK(swap_up(session, {up(true, WsOpcode::text, session.ph + session.ph)}).reason ==
        Reason::placeholder_wrong_place);
  CHECK(swap_up(session, {up(true, WsOpcode::ping, session.ph)}).reason ==
        Reason::placeholder_wrong_place);
  const WsPlace twice("hunter2-of-me", 2);
  CHECK(swap_up(twice, {up(true, WsOpcode::text, twice.ph + twice.ph)}).count == 2);
  const WsPlace odd("REAL\"quoted\\value");
  CHECK(swap_up(odd, {up(true, WsOpcode::text, odd.ph)}).reason == Reason::body_unswappable);
  CHECK(messages(swap_up(odd, {up(true, WsOpcode::binary, odd.ph)}).out, Sender::client) ==
        odd.value + "|");
}

TEST_CASE("a value in a message is masked, in one frame and over fragments, at every split") {
  for (const Masker::Holding holding : {Masker::Holding::beginnings, Masker::Holding::words}) {
    const OneSecret session;
    const std::string text = "you are " + session.value + " now";
    const std::string masked = "you are " + session.ph + " now";
    const std::string whole = frame(true, WsOpcode::text, text);
    test::at_every_split(whole, [&](const auto& pieces) {
      REQUIRE(pass_down(session, pieces, holding).out == frame(true, WsOpcode::text, masked));
    });
    const std::string wire =
        frame(false, WsOpcode::text, text.substr(0, 20)) + frame(true, WsOpcode::ping, "p") +
        frame(false, WsOpcode::continuation, text.substr(20, 10)) +
        frame(true, WsOpcode::continuation, text.substr(30)) + frame(true, WsOpcode::text, "next");
    test::at_every_split(wire, [&](const auto& pieces) {
      const Passed passed = pass_down(session, pieces, holding);
      REQUIRE(messages(passed.out, Sender::server) == "you are (9)p" + session.ph + " now|next|");
    });
  }
}

TEST_CASE("a mask that changes lengths re-frames, with the right length") {
  const OneSecret session(kShort);
  REQUIRE(session.ph.size() != kShort.size());
  const std::string text = "token " + kShort + ".";
  const std::string wire =
      frame(true, WsOpcode::text, text) + frame(false, WsOpcode::text, text.substr(0, 12)) +
      frame(true, WsOpcode::continuation, text.substr(12)) + frame(true, WsOpcode::text, "plain");
  const std::string masked = "token " + session.ph + ".|";
  test::at_every_split(wire, [&](const auto& pieces) {
    const Passed passed = pass_down(session, pieces);
    REQUIRE(messages(passed.out, Sender::server) == masked + masked + "plain|");
  });
  CHECK(pass_down(session, {frame(true, WsOpcode::text, text)}).out ==
        frame(true, WsOpcode::text, "token " + session.ph + "."));
}

TEST_CASE("a long frame keeps its header where lengths stay, and leaves in pieces where not") {
  const std::string text(100'000, 'y');
  const std::string wire = frame(true, WsOpcode::binary, text);
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0; at < wire.size(); at += 4096)
    pieces.push_back(std::string_view(wire).substr(at, 4096));
  const OneSecret keeping;
  REQUIRE_FALSE(keeping.secrets.mask_set().changes_length());
  CHECK(pass_down(keeping, pieces).out == wire);

  const OneSecret changing(kShort);
  std::size_t frames = 0;
  const Passed passed = pass_down(changing, pieces);
  CHECK(messages(passed.out, Sender::server, &frames) == text + "|");
  CHECK(frames >= 6);
  CHECK(frames <= 7);  // of 16 KiB each, or a little more as this test feeds them
}

TEST_CASE("a Close ends the flow, its code stays and its reason is masked") {
  const OneSecret session;
  const std::string wire = frame(true, WsOpcode::close, "\x0f\xa0no " + session.value) +
                           frame(true, WsOpcode::text, "too late");
  test::at_every_split(wire, [&](const auto& pieces) {
    const Passed passed = pass_down(session, pieces);
    REQUIRE(passed.outcome == Outcome::closed);
    REQUIRE(passed.out == frame(true, WsOpcode::close, "\x0f\xa0no " + session.ph));
  });
}

TEST_CASE("a control frame whose placeholder finds no room does not leave") {
  const OneSecret session(kShort);
  const std::string text = std::string(125 - kShort.size(), 'x') + kShort;
  const Passed passed = pass_down(session, {frame(true, WsOpcode::ping, text)});
  CHECK(passed.outcome == Outcome::unfit);
  CHECK(passed.out.empty());
}

TEST_CASE("a word held between two fragments can be let go") {
  const OneSecret session;
  WsMask mask(session.secrets.mask_set(), Masker::Holding::words);
  WsFlow flow(Sender::server, mask);
  const std::string first = frame(false, WsOpcode::text, "hello wor");
  std::string_view in = first;
  std::string out;
  REQUIRE(flow.pass(in, out) == Outcome::more);
  CHECK(out == frame(false, WsOpcode::text, "hello "));
  REQUIRE(mask.holds_a_word());
  REQUIRE(flow.is_between_frames());
  flow.release(out);
  CHECK_FALSE(mask.holds_a_word());
  const std::string last = frame(true, WsOpcode::continuation, "ld");
  in = last;
  REQUIRE(flow.pass(in, out) == Outcome::more);
  CHECK(messages(out, Sender::server) == "hello world|");
}

TEST_CASE("what was masked is counted, payload bytes too") {
  const OneSecret session;
  WsMask mask(session.secrets.mask_set(), Masker::Holding::beginnings);
  WsFlow flow(Sender::server, mask);
  const std::string wire = frame(true, WsOpcode::text, session.value + " " + session.value) +
                           frame(true, WsOpcode::pong, session.value) +
                           frame(true, WsOpcode::text, "x");
  REQUIRE(pass(flow, {wire}).outcome == Outcome::more);
  const auto counts = mask.take_counts();
  REQUIRE(counts.size() == 1);
  CHECK(counts[0].count == 3);
  CHECK(counts[0].encoding == "raw");
  CHECK(mask.take_counts().empty());
  CHECK(flow.payload_bytes() == 3 * session.value.size() + 2);
}

TEST_CASE("frames of ours may stand only between two others") {
  const OneSecret session;
  WsMask mask(session.secrets.mask_set(), Masker::Holding::beginnings);
  WsFlow flow(Sender::server, mask);
  const std::string wire = frame(true, WsOpcode::text, "hello");
  std::string out;
  std::string_view in = std::string_view(wire).substr(0, 4);
  REQUIRE(flow.pass(in, out) == Outcome::more);
  CHECK_FALSE(flow.is_at_border());
  in = std::string_view(wire).substr(4);
  REQUIRE(flow.pass(in, out) == Outcome::more);
  CHECK(flow.is_at_border());
}

TEST_CASE("a malformed frame is told behind what came before it") {
  const OneSecret session;
  const std::string good = up(true, WsOpcode::text, "ok");
  const Passed passed = pass_up(session, {good + frame(true, WsOpcode::text, "unmasked")});
  CHECK(passed.outcome == Outcome::malformed);
  CHECK(passed.out == good);
}

TEST_CASE("a Close frame of ours has code, words and a key towards a server") {
  CHECK(ws_close(1008, "no", std::nullopt) == frame(true, WsOpcode::close, "\x03\xf0no"));
  CHECK(ws_close(1002, "", kKey) == frame(true, WsOpcode::close, "\x03\xea", kKey));
}
