// Two sessions talk to each other: what one is told to say is what the other says it heard.
#include "http/h2_session.hpp"

#include <random>

#include "tests/http/h2_talk.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

namespace warder {
namespace {

using namespace test::h2;
using Role = H2Session::Role;
using Last = H2Session::Last;

HeaderList list(const Fields& fields) {
  HeaderList out;
  for (const auto& [name, value] : fields) out.add(name, value);
  return out;
}

RequestHead request(std::string method, std::string target, const Fields& fields = {}) {
  return {std::move(method), std::move(target), 1, list(fields)};
}

ResponseHead response(int status, const Fields& fields = {}) {
  return {status, "", 1, list(fields)};
}

struct Pair {
  H2Session client;
  H2Session server;
  Transcript client_heard{};
  Transcript server_heard{};
  std::string to_server{}, to_client{};  // all that was ever said

  explicit Pair(H2Limits client_limits = {}, H2Limits server_limits = {})
      : client(Role::client, client_limits), server(Role::server, server_limits) {
    exchange();
  }

  std::optional<StreamId> ask(const RequestHead& head, Last last,
                              const std::vector<std::string>& never = {}) {
    return client.send_request(head, "https", "api.test", last, never);
  }

  // Until neither has anything to say.
  void exchange() {
    for (bool busy = true; busy;) {
      const std::string up = take_output(client);
      const std::string down = take_output(server);
      busy = !up.empty() || !down.empty();
      to_server += up;
      to_client += down;
      REQUIRE(server.feed(up));
      REQUIRE(client.feed(down));
      client_heard.drain(client);
      server_heard.drain(server);
    }
  }
};

// The recorded bytes mean the same, and get the same answers, however they come.
void same_at_every_split(Role role, std::string_view bytes, std::size_t requests = 0) {
  std::optional<std::string> first;
  test::at_every_split(bytes, [&](const std::vector<std::string_view>& pieces) {
    H2Session session(role);
    for (std::size_t i = 0; i < requests; ++i) {
      REQUIRE(session.send_request(request("GET", "/"), "https", "api.test", Last::yes, {}));
    }
    take_output(session);
    Transcript heard;
    for (const std::string_view piece : pieces) {
      REQUIRE(session.feed(piece));
      heard.drain(session);
    }
    const std::string all = heard.text() + "|" + take_output(session);
    if (!first) first = all;
    REQUIRE(all == *first);
  });
}

TEST_CASE("a request and its answer, heads, bodies and trailers") {
  Pair pair;
  const auto id = pair.ask(request("POST", "/v1?a=b",
                                   {{"Host", "ignored"},
                                    {"Connection", "close"},
                                    {"TE", "trailers, deflate"},
                                    {"Accept", "a"},
                                    {"X-One", "1"},
                                    {"accept", "b"}}),
                           Last::no);
  REQUIRE(id == 1);
  CHECK(pair.client.send_body(1, "hello ") == 6);
  pair.exchange();
  CHECK(pair.client.send_body(1, "world") == 5);
  CHECK(pair.client.send_end(1, list({{"X-Sum", "9"}})));
  pair.exchange();
  CHECK(pair.server_heard.text() ==
        "1 POST https /v1?a=b [host: api.test] [te: trailers] [accept: a] [x-one: 1] [accept: b]\n"
        "1 data hello world\n1 end [x-sum: 9]\n");

  REQUIRE(pair.server.send_response(1, response(103, {{"Link", "</a>"}}), Last::no));
  REQUIRE(pair.server.send_response(1, response(100), Last::no));
  REQUIRE(pair.server.send_response(
      1,
      response(200,
               {{"Set-Cookie", "a=1"}, {"set-cookie", "b=2"}, {"Transfer-Encoding", "chunked"}}),
      Last::no));
  CHECK_FALSE(pair.server.send_response(1, response(200), Last::no));
  CHECK(pair.server.send_body(1, "ok") == 2);
  CHECK(pair.server.send_end(1, list({{"grpc-status", "0"}, {"details-bin", "AAEC"}})));
  CHECK_FALSE(pair.server.send_end(1, {}));
  CHECK(pair.server.send_body(1, "late") == 0);
  pair.exchange();
  CHECK(pair.client_heard.text() ==
        "1 103 [link: </a>]\n1 100\n1 200 [set-cookie: a=1] [set-cookie: b=2]\n"
        "1 data ok\n1 end [grpc-status: 0] [details-bin: AAEC]\n");
  same_at_every_split(Role::server, pair.to_server);
  same_at_every_split(Role::client, pair.to_client, 1);
}

TEST_CASE("messages without a body end with their head") {
  Pair pair;
  REQUIRE(pair.ask(request("HEAD", "/"), Last::yes) == 1);
  REQUIRE(pair.ask(request("GET", "/a"), Last::yes) == 3);
  REQUIRE(pair.ask(request("GET", "/b"), Last::yes) == 5);
  pair.exchange();
  REQUIRE(pair.server.send_response(1, response(200, {{"content-length", "5000"}}), Last::yes));
  REQUIRE(pair.server.send_response(3, response(204), Last::yes));
  REQUIRE(pair.server.send_response(5, response(304, {{"content-length", "9"}}), Last::yes));
  CHECK_FALSE(pair.server.send_response(7, response(200), Last::yes));
  pair.exchange();
  CHECK(pair.client_heard.text() ==
        "1 200 [content-length: 5000] end\n3 204 end\n5 304 [content-length: 9] end\n");
}

TEST_CASE("CONNECT has an authority and nothing else") {
  Pair pair;
  REQUIRE(pair.ask(request("CONNECT", "whatever"), Last::no) == 1);
  pair.exchange();
  CHECK(pair.server_heard.text() == "1 CONNECT  api.test [host: api.test]\n");
}

TEST_CASE("a gRPC stream talks both ways before either ends") {
  Pair pair;
  REQUIRE(
      pair.ask(request("POST", "/svc/Chat", {{"te", "trailers"}, {"token-bin", "AP8"}}), Last::no));
  pair.exchange();
  REQUIRE(pair.server.send_response(1, response(200), Last::no));
  for (int i = 0; i < 3; ++i) {
    CHECK(pair.client.send_body(1, std::string("\0\0\0\0\1q", 6)) == 6);
    pair.exchange();
    CHECK(pair.server.send_body(1, std::string("\0\0\0\0\1a", 6)) == 6);
    pair.exchange();
  }
  CHECK(pair.client_heard.text().find("data") != std::string::npos);
  CHECK(pair.server.send_end(1, list({{"grpc-status", "0"}})));
  CHECK(pair.client.send_end(1, {}));
  pair.exchange();
  CHECK(pair.client_heard.text().ends_with("1 end [grpc-status: 0]\n"));
  CHECK(pair.server_heard.text().ends_with("1 end\n"));
}

TEST_CASE("what HTTP/2 cannot carry is not sent") {
  Pair pair;
  const auto bad = GENERATE(
      request("GET /", "/"), request("", "/"), request("GET", "https://api.test/"),
      request("GET", "*"), request("GET", "/a b"), request("GET", "/", {{"a", "b\nc"}}),
      request("GET", "/", {{"a b", "c"}}), request("GET", "/", {{":path", "c"}}),
      request("GET", "/", {{"a", std::string("\0", 1)}}), request("GET", "/", {{"", "x"}}));
  CHECK_FALSE(pair.ask(bad, Last::yes));
  REQUIRE(pair.ask(request("GET", "/"), Last::yes) == 1);
  pair.exchange();
  CHECK_FALSE(pair.server.send_response(1, response(200, {{"a", "b\r\nc: d"}}), Last::yes));
  CHECK_FALSE(pair.server.send_response(1, response(101), Last::no));
  CHECK_FALSE(pair.server.send_response(1, response(100), Last::yes));
  CHECK(pair.server.send_response(1, response(200), Last::no));
  CHECK_FALSE(pair.server.send_end(1, list({{"a", "b\n"}})));
  CHECK_FALSE(pair.server.send_end(1, list({{"Content-Length", "1"}})));
}

TEST_CASE("a sensitive field never enters the table, and the mark is passed on") {
  Pair pair;
  const RequestHead head =
      request("GET", "/", {{"X-Key", "s3cret-value"}, {"x-plain", "plain-value"}});
  std::array<std::size_t, 2> sizes{};
  for (std::size_t& size : sizes) {
    REQUIRE(pair.ask(head, Last::yes, {"x-key"}));
    const std::string up = take_output(pair.client);
    for (const Frame& one : frames_in(up)) {
      if (one.type == headers) size = one.payload.size();
    }
    REQUIRE(pair.server.feed(up));
    auto event = pair.server.next();
    REQUIRE(event);
    CHECK(std::get<H2RequestHead>(*event).never_indexed == std::vector<std::string>{"x-key"});
  }
  // The plain field is one byte the second time; the value of the other is spelled out again.
  CHECK(sizes[1] < sizes[0]);
  CHECK(sizes[1] > 10);
}

TEST_CASE("the owner's reset is told to the peer, and to nobody else") {
  Pair pair;
  REQUIRE(pair.ask(request("POST", "/"), Last::no) == 1);
  CHECK(pair.client.send_body(1, "abc") == 3);
  pair.exchange();
  SECTION("by the server") {
    pair.server.reset(1, H2Code::refused_stream);
    CHECK(pair.client.send_body(1, "def") == 3);
    pair.exchange();
    CHECK(pair.server_heard.text().ends_with("1 data abc\n"));
    CHECK(pair.client_heard.text() == "1 reset 7\n");
    CHECK(pair.client.send_body(1, "x") == 0);
  }
  SECTION("by the client") {
    pair.client.reset(1, H2Code::cancel);
    pair.exchange();
    CHECK(pair.server_heard.text().ends_with("1 data abc\n1 reset 8\n"));
    CHECK_FALSE(pair.server.send_response(1, response(200), Last::yes));
    CHECK(pair.client_heard.text().empty());
  }
  SECTION("with events that nobody took") {
    CHECK(pair.client.send_body(1, "def") == 3);
    REQUIRE(pair.server.feed(take_output(pair.client)));
    pair.server.reset(1, H2Code::cancel);
    CHECK_FALSE(pair.server.next());
  }
  SECTION("before the request has left") {
    REQUIRE(pair.ask(request("GET", "/"), Last::yes) == 3);
    pair.client.reset(3, H2Code::cancel);
    pair.exchange();
    CHECK(pair.client_heard.text().empty());
    CHECK(pair.server_heard.text().find("3 GET") == std::string::npos);
  }
}

TEST_CASE("an answer before the request's end, and then no more of it") {
  Pair pair;
  REQUIRE(pair.ask(request("POST", "/"), Last::no) == 1);
  pair.exchange();
  REQUIRE(pair.server.send_response(1, response(413), Last::yes));
  pair.exchange();
  pair.server.reset(1, H2Code::no_error);
  pair.exchange();
  CHECK(pair.client_heard.text() == "1 413 end\n1 reset 0\n");
}

TEST_CASE("a peer may send only as much as was consumed") {
  H2Limits limits;
  limits.window = 1000;
  limits.connection_window = 65535;
  Pair pair({}, limits);
  REQUIRE(pair.ask(request("POST", "/"), Last::no));
  const std::string much(5000, 'x');
  CHECK(pair.client.send_body(1, much) == 1000);
  pair.exchange();
  CHECK(pair.client.send_body(1, much) == 0);
  CHECK(pair.client_heard.text().empty());
  pair.server.consume(1, 400);
  pair.exchange();
  CHECK(pair.client_heard.text().empty());  // less than half: not worth a frame
  pair.server.consume(1, 400);
  pair.exchange();
  CHECK(pair.client_heard.text() == "1 writable\n");
  CHECK(pair.client.send_body(1, much) == 800);
}

TEST_CASE("the connection's window holds streams back, and wakes them") {
  H2Limits limits;
  limits.connection_window = 65535;
  Pair pair({}, limits);
  REQUIRE(pair.ask(request("POST", "/"), Last::no) == 1);
  REQUIRE(pair.ask(request("POST", "/"), Last::no) == 3);
  CHECK(pair.client.send_body(1, std::string(60'000, 'x')) == 60'000);
  pair.exchange();
  CHECK(pair.client.send_body(3, std::string(60'000, 'x')) == 5535);
  pair.exchange();
  pair.server.consume(1, 40'000);
  pair.exchange();
  CHECK(pair.client_heard.text() == "3 writable\n");
}

TEST_CASE("nobody can consume more than came") {
  H2Limits limits;
  limits.window = 1000;
  Pair pair({}, limits);
  REQUIRE(pair.ask(request("POST", "/"), Last::no) == 1);
  CHECK(pair.client.send_body(1, "0123456789") == 10);
  pair.exchange();
  pair.server.consume(1, 5000);
  pair.server.consume(1, 5000);
  pair.server.consume(9, 5000);
  CHECK(pair.client.send_body(1, std::string(1000, 'x')) == 990);
  pair.exchange();
  pair.server.consume(1, 1);
  pair.exchange();
  CHECK(pair.client_heard.text().empty());
  CHECK(pair.client.send_body(1, "x") == 0);
}

TEST_CASE("bytes of a stream that was reset do not narrow the connection") {
  H2Limits limits;
  limits.streams = 10;
  limits.window = limits.connection_window = 65535;
  const auto by = GENERATE(Role::server, Role::client);
  Pair pair({}, limits);
  for (StreamId id = 1; id < 41; id += 2) {
    REQUIRE(pair.ask(request("POST", "/"), Last::no) == id);
    REQUIRE(pair.client.send_body(id, std::string(65535, 'x')) == 65535);
    pair.exchange();
    if (by == Role::server) pair.server.reset(id, H2Code::cancel);
    if (by == Role::client) pair.client.reset(id, H2Code::cancel);
    pair.server.consume(id, 5);  // late, and must not count twice
    pair.exchange();
    pair.server.consume(id, 5);
  }
}

TEST_CASE("200 streams at once, none mixed up") {
  H2Limits limits;
  limits.streams = 200;
  Pair pair(limits, limits);
  std::vector<StreamId> ids;
  for (int i = 0; i < 200; ++i) {
    const auto id = pair.ask(request("POST", "/" + std::to_string(i)), Last::no);
    REQUIRE(id);
    ids.push_back(*id);
  }
  CHECK_FALSE(pair.ask(request("GET", "/"), Last::yes));
  for (const StreamId id : ids) REQUIRE(pair.client.send_body(id, "body of " + std::to_string(id)));
  for (const StreamId id : ids) REQUIRE(pair.client.send_end(id, {}));
  pair.exchange();
  std::shuffle(ids.begin(), ids.end(), std::mt19937(7));
  for (const StreamId id : ids) {
    REQUIRE(pair.server.send_response(id, response(200), Last::no));
    REQUIRE(pair.server.send_body(id, "answer to " + std::to_string(id)) > 0);
    REQUIRE(pair.server.send_end(id, {}));
  }
  pair.exchange();
  const std::string asked = pair.server_heard.text(), answered = pair.client_heard.text();
  for (const StreamId id : ids) {
    const std::string n = std::to_string(id);
    CHECK(asked.find("\n" + n + " data body of " + n + "\n") != std::string::npos);
    CHECK(answered.find(n + " data answer to " + n + "\n") != std::string::npos);
  }
  CHECK(pair.ask(request("GET", "/"), Last::yes));
}

// 10 MiB each way through windows of 1,000 bytes; each side keeps what came and consumes it late.
TEST_CASE("BR-028: small windows and a slow reader stall nothing and lose nothing") {
  H2Limits limits;
  limits.window = 1000;
  limits.connection_window = 65535;
  Pair pair(limits, limits);
  constexpr std::size_t kTotal = 10 << 20;
  std::mt19937 random(11);
  std::string content(kTotal, '\0');
  for (char& c : content) c = static_cast<char>(random());
  REQUIRE(pair.ask(request("POST", "/", {{"content-length", std::to_string(kTotal)}}), Last::no));
  REQUIRE(pair.server.feed(take_output(pair.client)));
  REQUIRE(pair.server.send_response(1, response(200), Last::no));

  struct Side {
    H2Session& session;
    std::string heard{};
    std::size_t sent = 0, unconsumed = 0;
    bool ended = false, heard_end = false;
  };
  std::array<Side, 2> sides{Side{pair.client}, Side{pair.server}};
  const auto turn = [&](Side& side, Side& other) {
    if (random() % 3 == 0) {
      const std::size_t some = side.unconsumed - side.unconsumed / 3;
      side.session.consume(1, some);
      side.unconsumed -= some;
    }
    if (side.sent < kTotal) {
      side.sent += side.session.send_body(1, std::string_view(content).substr(side.sent, 5000));
    } else if (!side.ended) {
      side.ended = side.session.send_end(1, {});
    }
    const std::string said = take_output(side.session);
    for (std::size_t at = 0; at < said.size();) {
      const std::size_t n = std::min<std::size_t>(1 + random() % 700, said.size() - at);
      REQUIRE(other.session.feed(std::string_view(said).substr(at, n)));
      at += n;
    }
    while (auto event = other.session.next()) {
      if (const auto* data = std::get_if<H2Data>(&*event)) {
        other.heard += data->bytes;
        other.unconsumed += data->bytes.size();
        REQUIRE(other.unconsumed <= 1000);
      }
      other.heard_end |= std::holds_alternative<H2End>(*event);
      REQUIRE_FALSE(std::holds_alternative<H2Reset>(*event));
    }
  };
  std::size_t turns = 0;
  while (!(sides[0].heard_end && sides[1].heard_end)) {
    REQUIRE(++turns < 500'000);
    turn(sides[0], sides[1]);
    turn(sides[1], sides[0]);
  }
  CHECK(sides[0].heard == content);
  CHECK(sides[1].heard == content);
}

TEST_CASE("10 MiB in the ordinary windows") {
  Pair pair;
  REQUIRE(pair.ask(request("GET", "/"), Last::yes));
  pair.exchange();
  REQUIRE(pair.server.send_response(1, response(200), Last::no));
  const std::string content(10 << 20, 'x');
  std::size_t sent = 0, heard = 0;
  while (heard < content.size()) {
    const std::size_t before = sent + heard;
    sent += pair.server.send_body(1, std::string_view(content).substr(sent, 16384));
    REQUIRE(pair.client.feed(take_output(pair.server)));
    while (auto event = pair.client.next()) {
      if (const auto* data = std::get_if<H2Data>(&*event)) {
        heard += data->bytes.size();
        pair.client.consume(1, data->bytes.size());
      }
    }
    REQUIRE(pair.server.feed(take_output(pair.client)));
    REQUIRE(sent + heard > before);
  }
}

TEST_CASE("a session holds little for a peer that does not read") {
  Pair pair;
  REQUIRE(pair.ask(request("GET", "/"), Last::yes));
  pair.exchange();
  REQUIRE(pair.server.send_response(1, response(200), Last::no));
  const std::string much(1 << 20, 'x');
  std::size_t taken = 0, n = 0;
  do {
    n = pair.server.send_body(1, much);
    taken += n;
  } while (n > 0);
  CHECK(taken == 64 * 1024);
  // What is being written stays where it is, whatever comes in meanwhile.
  const std::string_view out = pair.server.output();
  const std::string before(out);
  REQUIRE(pair.server.feed(frame(ping, 0, 0, "12345678") + frame(window, 0, 1, u32(100'000))));
  CHECK(pair.server.send_body(1, much) > 0);
  CHECK(out == before);
  CHECK(pair.server.output().data() == out.data());
  // It says when there is room again.
  while (pair.server.next()) {
  }
  take_output(pair.server);
  pair.server_heard = {};
  pair.server_heard.drain(pair.server);
  CHECK(pair.server_heard.text() == "1 writable\n");
}

TEST_CASE("a graceful end lets the streams under way finish") {
  Pair pair;
  REQUIRE(pair.ask(request("GET", "/a"), Last::yes) == 1);
  pair.exchange();
  REQUIRE(pair.ask(request("GET", "/b"), Last::yes) == 3);  // crosses the GOAWAY
  pair.server.shut_down();
  pair.server.shut_down();
  pair.exchange();
  CHECK(pair.server_heard.text().find("/b") == std::string::npos);
  CHECK(pair.client_heard.text() == "goaway 1 0\n3 reset 7\n");
  CHECK_FALSE(pair.ask(request("GET", "/c"), Last::yes));
  CHECK_FALSE(pair.server.finished());
  REQUIRE(pair.server.send_response(1, response(200), Last::yes));
  pair.exchange();
  CHECK(pair.client_heard.text().ends_with("1 200 end\n"));
  CHECK(pair.server.finished());
  CHECK(pair.client.finished());
}

TEST_CASE("after the end is announced no request begins, even if the announcement is still here") {
  Pair pair;
  REQUIRE(pair.ask(request("GET", "/a"), Last::yes));
  pair.server.shut_down();
  REQUIRE(pair.server.feed(take_output(pair.client)));
  CHECK_FALSE(pair.server.next());
  pair.exchange();
  CHECK(pair.client_heard.text() == "goaway 0 0\n1 reset 7\n");
  CHECK(pair.server.finished());
}

TEST_CASE("the limits of the peer are kept") {
  H2Limits few;
  few.streams = 2;
  Pair pair({}, few);
  REQUIRE(pair.ask(request("GET", "/"), Last::yes) == 1);
  REQUIRE(pair.ask(request("GET", "/"), Last::yes) == 3);
  CHECK_FALSE(pair.ask(request("GET", "/"), Last::yes));
  pair.exchange();
  REQUIRE(pair.server.send_response(1, response(200), Last::yes));
  pair.exchange();
  CHECK(pair.ask(request("GET", "/"), Last::yes) == 5);
}

TEST_CASE("a head of 200 KiB passes") {
  Pair pair;
  Fields fields;
  for (int i = 0; i < 200; ++i)
    fields.emplace_back("x" + std::to_string(i), std::string(1000, 'v'));
  fields.emplace_back("big", std::string(40'000, 'v'));
  REQUIRE(pair.ask(request("GET", "/", fields), Last::yes));
  pair.exchange();
  CHECK(pair.server_heard.text().size() > 240'000);
}

}  // namespace
}  // namespace warder
