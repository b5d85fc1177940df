// What a hostile or broken peer sends, frame by frame: who is told, what dies, and what goes on.
#include <malloc.h>

#include <chrono>

#include "base/clock.hpp"
#include "tests/http/h2_talk.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

namespace warder {
namespace {

using namespace test::h2;
using Role = H2Session::Role;

struct FakeClock final : Clock {
  std::chrono::nanoseconds time{std::chrono::hours(1)};
  std::chrono::system_clock::time_point now() const override { return {}; }
  std::chrono::nanoseconds monotonic() const override { return time; }
};

const std::string kGood = "1 GET https / [host: api.test] end\n";

// The bad stream is 1; a request on stream 3 behind it must not suffer.
Verdict beside_a_good_one(const std::string& bad) { return server_on(bad + head(3, get())); }
const std::string kGoodBeside = "3 GET https / [host: api.test] end\n";

TEST_CASE("an HTTP/2 head that is malformed resets its stream and nothing else") {
  const Fields base = get();
  const auto with = [&](const std::string& name, const std::string& value) {
    return get("/", {{name, value}});
  };
  const auto changed = [&](std::size_t at, const std::string& name, const std::string& value) {
    Fields fields = base;
    fields[at] = {name, value};
    return fields;
  };
  const auto without = [&](std::size_t at) {
    Fields fields = base;
    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
    return fields;
  };
  const auto [what, fields] = GENERATE_COPY(table<std::string, Fields>({
      {"no method", without(0)},
      {"no scheme", without(1)},
      {"no authority and no host", without(2)},
      {"no path", without(3)},
      {"empty path", changed(3, ":path", "")},
      {"relative path", changed(3, ":path", "a")},
      {"absolute form in the path", changed(3, ":path", "https://evil.test/")},
      {"space in the path", changed(3, ":path", "/a b")},
      {"path beyond ASCII", changed(3, ":path", "/\xc3\xa9")},
      {"asterisk for GET", changed(3, ":path", "*")},
      {"empty authority", changed(2, ":authority", "")},
      {"authority with a space", changed(2, ":authority", "api.test evil")},
      {"authority beyond ASCII", changed(2, ":authority",
                                         "b\xc3\xbc"
                                         "cher.test")},
      {"scheme of something else", changed(1, ":scheme", "ftp")},
      {"method with a space", changed(0, ":method", "GET /x")},
      {"method with a line end", changed(0, ":method", "GET\r\n")},
      {"method in lower case", changed(0, ":method", "get")},
      {"method of 33 characters", changed(0, ":method", std::string(33, 'A'))},
      {"CONNECT with path and scheme", changed(0, ":method", "CONNECT")},
      {"extended CONNECT", with(":protocol", "websocket")},
      {"unknown pseudo field", with(":foo", "x")},
      {"pseudo field of a response", with(":status", "200")},
      {"pseudo field twice", with(":path", "/other")},
      {"pseudo field behind others", {{"a", "b"}, base[0], base[1], base[2], base[3]}},
      {"another Host", with("host", "evil.test")},
      {"another port in Host", with("host", "api.test:8443")},
      {"Host twice", get("/", {{"host", "api.test"}, {"host", "api.test"}})},
      {"upper case", with("X-Up", "x")},
      {"name with a colon", with("a:b", "x")},
      {"name with a space", with("a b", "x")},
      {"name with a line end", with("a\r\nb", "x")},
      {"empty name", with("", "x")},
      {"value with NUL", with("a", std::string("x\0y", 3))},
      {"value with CR", with("a", "x\ry")},
      {"value with LF", with("a", "x\ny")},
      {"value that smuggles", with("a", "x\r\ntransfer-encoding: chunked")},
      {"value with space before", with("a", " x")},
      {"value with tab after", with("a", "x\t")},
      {"connection", with("connection", "close")},
      {"keep-alive", with("keep-alive", "timeout=5")},
      {"proxy-connection", with("proxy-connection", "close")},
      {"transfer-encoding", with("transfer-encoding", "chunked")},
      {"upgrade", with("upgrade", "h2c")},
      {"te other than trailers", with("te", "trailers, deflate")},
      {"two lengths", get("/", {{"content-length", "0"}, {"content-length", "0"}})},
      {"a list of lengths", with("content-length", "0, 0")},
      {"a signed length", with("content-length", "+0")},
      {"a length beyond 63 bits", with("content-length", "99999999999999999999")},
  }));
  CAPTURE(what);
  const Verdict verdict = beside_a_good_one(head(1, fields));
  CHECK(verdict.events == kGoodBeside);
  CHECK(verdict.errors == "RST 1 1\n");
  CHECK(verdict.alive);
}

TEST_CASE("what is unusual but right is let through") {
  const auto [fields, line] = GENERATE(table<Fields, std::string>({
      {get("/", {{"host", "API.test"}}), "1 GET https / [host: api.test] end\n"},
      {{{":method", "GET"}, {":scheme", "https"}, {":path", "/"}, {"a", "1"}, {"host", "h.test"}},
       "1 GET https / [host: h.test] [a: 1] end\n"},
      {{{":method", "OPTIONS"}, {":scheme", "HTTPS"}, {":authority", "h"}, {":path", "*"}},
       "1 OPTIONS https * [host: h] end\n"},
      {{{":method", "CONNECT"}, {":authority", "h:443"}}, "1 CONNECT  h:443 [host: h:443] end\n"},
      {get("/", {{"te", "trailers"}}), "1 GET https / [host: api.test] [te: trailers] end\n"},
      {get("/", {{"a", ""}, {"b", "\xff"}}),
       "1 GET https / [host: api.test] [a: ] [b: \xff] end\n"},
  }));
  const Verdict verdict = server_on(head(1, fields));
  CHECK(verdict.events == line);
  CHECK(verdict.errors.empty());
}

TEST_CASE("BR-031: a length that is not the sum of the DATA ends the stream, never the body") {
  const auto [length, body, events] = GENERATE(table<std::string, std::string, std::string>({
      {"5", "123456789", ""},
      {"10", "123", "1 data 123\n"},
      {"1", "", ""},
      {"0", "1", ""},
  }));
  const std::string bad =
      head(1, post({{"content-length", length}}), kEndHeaders) + frame(data, kEndStream, 1, body);
  const Verdict verdict = beside_a_good_one(bad);
  CHECK(verdict.events == "1 POST https / [host: api.test] [content-length: " + length + "]\n" +
                              events + "1 reset 1\n" + kGoodBeside);
  CHECK(verdict.errors == "RST 1 1\n");
}

TEST_CASE("trailers that would change the message are refused") {
  const auto trailer = GENERATE(Fields{{"content-length", "3"}}, Fields{{"host", "evil.test"}},
                                Fields{{"transfer-encoding", "chunked"}}, Fields{{":path", "/x"}},
                                Fields{{"te", "trailers"}}, Fields{{"a", "b\n"}},
                                Fields{{"authorization", "Bearer x"}}, Fields{{"cookie", "a=b"}});
  const Verdict verdict =
      beside_a_good_one(head(1, post(), kEndHeaders) + frame(data, 0, 1, "abc") + head(1, trailer));
  CHECK(verdict.events == "1 POST https / [host: api.test]\n1 data abc\n1 reset 1\n" + kGoodBeside);
  CHECK(verdict.errors == "RST 1 1\n");
}

TEST_CASE("BR-029: CONTINUATION where none belongs ends the connection, and no request came") {
  const auto bad =
      GENERATE(frame(continuation, kEndHeaders | kEndStream, 1),
               frame(headers, kEndStream, 1, block(get())) + frame(data, 0, 1, "x"),
               frame(headers, kEndStream, 1, block(get())) + frame(continuation, kEndHeaders, 3),
               frame(headers, kEndStream, 1, block(get())) + head(3, get()),
               head(1, get()) + frame(continuation, kEndHeaders, 1, block({{"a", "b"}})));
  const Verdict verdict = server_on(bad + head(5, get()));
  CHECK((verdict.events.empty() || verdict.events == kGood));
  CHECK(verdict.errors == "GOAWAY 1\n");
  CHECK_FALSE(verdict.alive);
}

TEST_CASE("BR-029: a flood of CONTINUATION is cut off") {
  const auto [size, most] =
      GENERATE(table<std::size_t, std::size_t>({{0, 2000}, {1, 3000}, {16384, 2 << 20}}));
  H2Session session(Role::server);
  REQUIRE(session.feed(client_hello() + frame(headers, 0, 1, block(get()))));
  const std::string more = frame(continuation, 0, 1, std::string(size, '\0'));
  std::size_t fed = 0;
  while (session.feed(more)) {
    fed += more.size();
    REQUIRE(fed < most);
  }
  CHECK(errors_in(take_output(session)).ends_with("GOAWAY 11\n"));
  CHECK(session.finished());
  CHECK_FALSE(session.next());
}

TEST_CASE("a head of many CONTINUATION frames is one head, however its bytes come") {
  H2Limits limits;
  std::string bytes = client_hello();
  const std::string whole = block(get("/", {{"a", "0123456789"}}));
  bytes += frame(headers, kEndStream, 1, whole.substr(0, 1));
  for (std::size_t at = 1; at < whole.size(); at += 5) {
    const bool last = at + 5 >= whole.size();
    bytes += frame(continuation, last ? kEndHeaders : 0, 1, whole.substr(at, 5));
  }
  test::at_every_split(bytes, [&](const std::vector<std::string_view>& pieces) {
    const Verdict verdict = judge(Role::server, pieces, limits);
    CHECK(verdict.events == "1 GET https / [host: api.test] [a: 0123456789] end\n");
    CHECK(verdict.alive);
  });
}

TEST_CASE("BR-030: tiny frames for streams that never were cost nothing") {
  H2Session session(Role::server);
  REQUIRE(session.feed(client_hello()));
  std::string flood;
  for (std::uint32_t id = 1; id < 100'000; id += 2)
    flood += frame(priority, 0, id, u32(0) + "\x10");
  for (int i = 0; i < 100'000; ++i) flood += frame(0xfa, 0xff, 77, "x");  // unknown type
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(session.feed(flood));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
  CHECK_FALSE(session.next());
  REQUIRE(session.feed(head(1, get())));
  test::h2::Transcript transcript;
  transcript.drain(session);
  CHECK(transcript.text() == kGood);
}

TEST_CASE("BR-030: WINDOW_UPDATE, DATA and RST_STREAM for a stream that never was are an error") {
  const auto bad =
      GENERATE(frame(window, 0, 5, u32(1)), frame(data, 0, 5, "x"), frame(rst, 0, 5, u32(8)));
  const Verdict verdict = server_on(bad);
  CHECK(verdict.errors == "GOAWAY 1\n");
  CHECK_FALSE(verdict.alive);
}

TEST_CASE("rapid reset is cut off, by the second") {
  FakeClock clock;
  H2Limits limits;
  limits.resets_per_second = 50;
  H2Session session(Role::server, limits, &clock);
  REQUIRE(session.feed(client_hello()));
  std::uint32_t id = 1;
  const auto give_up = [&](int times) {
    bool alive = true;
    for (int i = 0; i < times && alive; ++i, id += 2) {
      alive = session.feed(head(id, get()) + frame(rst, 0, id, u32(8)));
      while (session.next()) {
      }
    }
    return alive;
  };
  SECTION("a patient client may go on for ever") {
    for (int second = 0; second < 20; ++second, clock.time += std::chrono::seconds(1)) {
      REQUIRE(give_up(50));
    }
  }
  SECTION("one too many") {
    REQUIRE(give_up(50));
    CHECK_FALSE(give_up(1));
    CHECK(errors_in(take_output(session)) == "GOAWAY 11\n");
    CHECK(session.finished());
  }
}

TEST_CASE("resets that the client provokes count as its own") {
  FakeClock clock;
  H2Session session(Role::server, {}, &clock);
  REQUIRE(session.feed(client_hello()));
  const std::string bad = block(get("/", {{"connection", "close"}}));
  std::uint32_t id = 1;
  while (session.feed(frame(headers, kEndHeaders | kEndStream, id, bad))) {
    id += 2;
    REQUIRE(id < 1000);
  }
  CHECK(errors_in(take_output(session)).ends_with("GOAWAY 11\n"));
  CHECK_FALSE(session.next());
}

TEST_CASE("a peer that asks and never reads is cut off") {
  const auto flood = GENERATE(frame(ping, 0, 0, "12345678"), frame(settings, 0, 0));
  H2Session session(Role::server);
  REQUIRE(session.feed(client_hello()));
  std::size_t sent = 0;
  while (session.feed(flood)) REQUIRE(++sent < 20'000);
  const std::string output = take_output(session);
  CHECK(output.size() < 400'000);
  CHECK(errors_in(output) == "GOAWAY 11\n");
}

TEST_CASE("a peer that asks and reads may go on") {
  H2Session session(Role::server);
  REQUIRE(session.feed(client_hello()));
  for (int i = 0; i < 50'000; ++i) {
    REQUIRE(session.feed(frame(ping, 0, 0, "12345678")));
    if (i % 100 == 0) take_output(session);
  }
}

TEST_CASE("a head over the limits can be answered, and its body goes nowhere") {
  H2Limits limits;
  limits.head = {.bytes = 1000, .fields = 20, .target = 200, .trailer_bytes = 100};
  const auto [fields, line] = GENERATE(table<Fields, std::string>({
      {get("/" + std::string(200, 'a')), "1 target too large\n"},
      {get("/", {{"a", std::string(1000, 'a')}}), "1 head too large\n"},
      {get("/", Fields(20, {"a", "b"})), "1 head too large\n"},
      {get("/", Fields(600, {"a", "b"})), "1 head too large\n"},
  }));
  H2Session session(Role::server, limits);
  test::h2::Transcript transcript;
  REQUIRE(session.feed(client_hello() + head(1, fields, kEndHeaders)));
  transcript.drain(session);
  REQUIRE(session.feed(frame(data, 0, 1, "secret") + head(3, get())));
  transcript.drain(session);
  CHECK(transcript.text() == line + kGoodBeside);
  REQUIRE(session.send_response(1, {431, "", 1, {}}, H2Session::Last::yes));
  const std::string output = take_output(session);
  CHECK(errors_in(output) == "RST 1 0\n");
  CHECK(frames_in(output).rbegin()[1].type == headers);
  CHECK_FALSE(session.next());
}

TEST_CASE("bodies that go nowhere do not narrow the connection") {
  H2Limits limits;
  limits.head.bytes = 100;
  limits.connection_window = 65535;
  H2Session session(Role::server, limits);
  REQUIRE(session.feed(client_hello()));
  const Fields fields = get("/", {{"a", std::string(100, 'a')}});
  for (std::uint32_t id = 1; id < 40; id += 2) {
    REQUIRE(
        session.feed(head(id, fields, kEndHeaders) + frame(data, 0, id, std::string(9000, 'x'))));
    take_output(session);
  }
}

TEST_CASE("trailers over the limit end the stream") {
  H2Limits limits;
  limits.head.trailer_bytes = 100;
  const Verdict verdict =
      server_on(head(1, post(), kEndHeaders) + head(1, {{"a", std::string(100, 'x')}}), limits);
  CHECK(verdict.events == "1 POST https / [host: api.test]\n1 reset 11\n");
  CHECK(verdict.errors == "RST 1 11\n");
}

TEST_CASE("an HPACK bomb is a head too large, or the end of the connection") {
  H2Session session(Role::server);
  // One entry of 4,000 bytes in the table, then a byte for each copy of it.
  const std::string entry =
      '\x40' + hpack_int(0, 7, 1) + "a" + hpack_int(0, 7, 4000) + std::string(4000, 'x');
  REQUIRE(session.feed(client_hello() +
                       frame(headers, kEndHeaders | kEndStream, 1, block(get()) + entry)));
  while (session.next()) {
  }
  SECTION("one head of 48 MB") {
    const std::string bomb =
        frame(headers, kEndHeaders | kEndStream, 3, block(get()) + std::string(12'000, '\xbe'));
    const auto before = mallinfo2().uordblks;
    REQUIRE(session.feed(bomb));
    CHECK(mallinfo2().uordblks < before + (1 << 20));
    test::h2::Transcript transcript;
    transcript.drain(session);
    CHECK(transcript.text() == "3 head too large\n");
  }
  SECTION("many heads that just fit, none of them taken") {
    const std::string bomb = block(get()) + std::string(60, '\xbe');
    std::uint32_t id = 3;
    while (session.feed(frame(headers, kEndHeaders | kEndStream, id, bomb))) {
      id += 2;
      REQUIRE(id < 60);
    }
    CHECK(errors_in(take_output(session)) == "GOAWAY 11\n");
  }
}

TEST_CASE("what is no HTTP/2 is told so") {
  const auto bytes =
      GENERATE(std::string("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
               std::string(kPreface) + frame(ping, 0, 0, "12345678"),
               std::string("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n") + frame(settings, 0, 0));
  test::at_every_split(bytes, [&](const std::vector<std::string_view>& pieces) {
    const Verdict verdict = judge(Role::server, pieces);
    CHECK(verdict == Verdict{"", "GOAWAY 1\n", false});
  });
}

TEST_CASE("frames that break the rules of RFC 9113 end the connection with its code") {
  const std::string open = head(1, post(), kEndHeaders);
  const auto [bytes, code] = GENERATE_COPY(table<std::string, std::string>({
      {frame(data, 0, 0, "x"), "1"},
      {frame(headers, kEndHeaders, 0, block(get())), "1"},
      {head(2, get()), "1"},
      {head(5, get()) + head(3, get()), "1"},
      {head(1, get()) + head(9, get()) + head(7, get()), "1"},
      {frame(rst, 0, 0, u32(1)), "1"},
      {frame(push, kEndHeaders, 1, u32(2) + block(get())), "1"},
      {frame(settings, kAck, 0, "123456"), "6"},
      {frame(settings, 0, 1), "1"},
      {frame(settings, 0, 0, std::string("\0\2\0\0\0\7", 6)), "1"},
      {frame(settings, 0, 0, std::string("\0\4\x80\0\0\0", 6)), "3"},
      {frame(ping, 0, 0, "1234567"), "6"},
      {frame(window, 0, 0, u32(0)), "1"},
      {frame(window, 0, 0, u32(0x7fffffff)), "3"},
      {open + frame(data, kPadded, 1, "\x05zz"), "1"},
      {head(1, get()) + frame(data, 0, 1, "x"), "5"},
      {frame(headers, kEndHeaders, 1, "\xff\xff\xff\xff\xff\xff"), "9"},
      {frame(headers, kEndHeaders, 1, "\xbf"), "9"},
      {frame(headers, kEndHeaders | kPriority, 1, u32(1) + "\x10" + block(get())), "1"},
      {frame(data, 0, 1, std::string(16385, 'x')), "6"},
  }));
  const Verdict verdict = server_on(bytes);
  CHECK(verdict.errors == "GOAWAY " + code + "\n");
  CHECK_FALSE(verdict.alive);
}

TEST_CASE("frames that crossed our reset are no error") {
  H2Session session(Role::server);
  REQUIRE(session.feed(client_hello() + head(1, post(), kEndHeaders) + head(3, get())));
  session.reset(1, H2Code::cancel);
  take_output(session);
  REQUIRE(session.feed(frame(data, 0, 1, "late") + frame(window, 0, 1, u32(9)) +
                       head(1, {{"a", "b"}})));
  while (session.next()) {
  }
  CHECK(errors_in(take_output(session)).empty());
}

TEST_CASE("more streams than agreed are refused, or end the connection") {
  H2Limits limits;
  limits.streams = 2;
  const std::string three =
      head(1, post(), kEndHeaders) + head(3, post(), kEndHeaders) + head(5, post(), kEndHeaders);
  CHECK(server_on(three, limits).errors == "RST 5 7\n");
  const Verdict verdict = server_on(frame(settings, kAck, 0) + three, limits);
  CHECK(verdict.errors == "GOAWAY 1\n");
}

TEST_CASE("a window that is overrun ends the connection") {
  H2Limits limits;
  limits.window = limits.connection_window = 65535;
  std::string bytes = frame(settings, kAck, 0) + head(1, post(), kEndHeaders);
  for (int i = 0; i < 5; ++i) bytes += frame(data, 0, 1, std::string(16384, 'x'));
  CHECK(server_on(bytes, limits).errors == "GOAWAY 3\n");
}

TEST_CASE("a hostile origin") {
  H2Session session(Role::client);
  RequestHead request{"GET", "/", 1, {}};
  REQUIRE(session.send_request(request, "https", "api.test", H2Session::Last::yes, {}) == 1);
  take_output(session);
  REQUIRE(session.feed(frame(settings, 0, 0)));
  const auto answer = [](const Fields& fields, std::uint8_t flags = kEndHeaders | kEndStream,
                         std::uint32_t id = 1) { return head(id, fields, flags); };
  const auto [what, bytes, events, errors] =
      GENERATE_COPY(table<std::string, std::string, std::string, std::string>({
          {"answers what nobody asked", answer({{":status", "200"}}, 5, 3), "", "GOAWAY 1\n"},
          {"opens a stream", answer({{":status", "200"}}, 5, 2), "", "GOAWAY 1\n"},
          {"pushes", frame(push, kEndHeaders, 1, u32(2) + block(get())), "", "GOAWAY 1\n"},
          {"has no status", answer({{"a", "b"}}), "1 reset 1\n", "RST 1 1\n"},
          {"has two", answer({{":status", "200"}, {":status", "200"}}), "1 reset 1\n", "RST 1 1\n"},
          {"has a status of letters", answer({{":status", "2x0"}}), "1 reset 1\n", "RST 1 1\n"},
          {"has a status of 099", answer({{":status", "099"}}), "1 reset 1\n", "RST 1 1\n"},
          {"switches protocols", answer({{":status", "101"}}), "1 reset 1\n", "RST 1 1\n"},
          {"ends with 103", answer({{":status", "103"}}), "1 reset 1\n", "RST 1 1\n"},
          {"sends DATA first", frame(data, 1, 1, "x"), "", "GOAWAY 1\n"},
          {"sends a request's field", answer({{":status", "200"}, {":path", "/"}}), "1 reset 1\n",
           "RST 1 1\n"},
          {"splits", answer({{":status", "200"}, {"a", "b\r\nset-cookie: x"}}), "1 reset 1\n",
           "RST 1 1\n"},
          {"sends a head of 300 KB",
           frame(headers, kEndStream, 1, block({{":status", "200"}})) +
               [] {
                 std::string all;
                 for (int i = 0; i < 20; ++i) {
                   all += frame(continuation, i == 19 ? kEndHeaders : 0, 1,
                                block({{"a", std::string(16000, 'x')}}));
                 }
                 return all;
               }(),
           "1 reset 11\n", "RST 1 11\n"},
          {"cuts the body",
           answer({{":status", "200"}, {"content-length", "5"}}, kEndHeaders) +
               frame(data, kEndStream, 1, "abc"),
           "1 200 [content-length: 5]\n1 data abc\n1 reset 1\n", "RST 1 1\n"},
          {"gives up", answer({{":status", "200"}}, kEndHeaders) + frame(rst, 0, 1, u32(2)),
           "1 200\n1 reset 2\n", ""},
          {"has never seen it", frame(goaway, 0, 0, u32(0) + u32(0)), "goaway 0 0\n1 reset 7\n",
           ""},
          {"sends a body to HEAD", "", "", ""},
      }));
  CAPTURE(what);
  session.feed(bytes);
  const std::string output = take_output(session);
  test::h2::Transcript transcript;
  transcript.drain(session);
  CHECK(transcript.text() == events);
  CHECK(errors_in(output) == errors);
}

}  // namespace
}  // namespace warder
