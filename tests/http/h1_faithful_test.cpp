// What is odd but has one reading passes as it was sent.
#include "http/h1_writer.hpp"
#include "tests/http/transcript.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;
using namespace std::string_literals;

namespace {

// Reads a head in pieces and writes it again.
std::string rewritten(H1Parser::Role role, std::string_view method,
                      const std::vector<std::string_view>& pieces) {
  H1Parser parser(role);
  const bool is_request = role == H1Parser::Role::request;
  is_request ? parser.begin_request() : parser.begin_response(method);
  for (std::string_view in : pieces) {
    const H1Event event = parser.next(in);
    if (event == H1Event::error) return "refused";
    if (event != H1Event::head) continue;
    std::string out;
    const bool written =
        is_request ? write_head(out, parser.request()) : write_head(out, parser.response());
    return written ? out : "not written";
  }
  return "no head";
}

void check_request(const std::string& head) {
  CAPTURE(head);
  at_every_split(head, [&](const auto& pieces) {
    REQUIRE(rewritten(H1Parser::Role::request, "", pieces) == head);
  });
}

void check_response(const std::string& head) {
  CAPTURE(head);
  at_every_split(head, [&](const auto& pieces) {
    REQUIRE(rewritten(H1Parser::Role::response, "GET", pieces) == head);
  });
}

}  // namespace

TEST_CASE("odd requests pass byte for byte") {
  for (const std::string& head :
       {"GET / HTTP/1.1\r\n\r\n"s,
        "GET /?a=b&c=%20|{}\"<>^` HTTP/1.1\r\nHost: a\r\n\r\n"s,
        "GET //a//b;c=d,e HTTP/1.1\r\nHost: a\r\n\r\n"s,
        "LIST /v1/secret HTTP/1.1\r\nHost: vault.test\r\n\r\n"s,
        "QUERY / HTTP/1.1\r\nHost: a\r\n\r\n"s,
        "VERSION-CONTROL / HTTP/1.1\r\nHost: a\r\n\r\n"s,
        "M-SEARCH * HTTP/1.1\r\nHost: a\r\n\r\n"s,
        "X!#$%&'*+-.^_`|~9 / HTTP/1.1\r\nHost: a\r\n\r\n"s,
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"s,
        "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n"s,
        "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n"s,
        "GET http://a.test:8080/x?y HTTP/1.1\r\nHost: a.test:8080\r\n\r\n"s,
        "PUT / HTTP/1.1\r\nhOsT: a\r\nEXPECT: 100-Continue\r\nContent-Length: 1048576\r\n\r\n"s,
        "GET / HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nCookie: b=2\r\ncookie: c=3\r\n\r\n"s,
        "GET / HTTP/1.1\r\nX_Under.Score!: 1\r\nHost: a\r\n1: 2\r\n\r\n"s,
        "GET / HTTP/1.1\r\nHost: \r\nX: \r\nY: \r\n\r\n"s,
        "GET / HTTP/1.1\r\nX: caf\xe9 \xc3\xa9 \xff\x80\r\n\r\n"s,
        "GET / HTTP/1.1\r\nX: a\tb \t c\r\n\r\n"s,
        "GET / HTTP/1.1\r\nX: a: b:c,;=\"\\\r\n\r\n"s,
        "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"s,
        "GET / HTTP/1.1\r\nTransfer-Encodings: gzip\r\nContent-Lengths: a\r\n\r\n"s,
        "POST / HTTP/1.1\r\nContent-Length: 007\r\n\r\n"s,
        "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n"s,
        "POST / HTTP/1.1\r\nContent-Length: 9223372036854775807\r\n\r\n"s}) {
    check_request(head);
  }
}

TEST_CASE("BR-013 odd responses pass byte for byte") {
  for (const std::string& head :
       {"HTTP/1.1 200 OK\r\n\r\n"s, "HTTP/1.1 200 \r\n\r\n"s,
        "HTTP/1.1 999 Request denied\r\n\r\n"s, "HTTP/1.1 600 \r\nA: 1\r\n\r\n"s,
        "HTTP/1.1 200 caf\xe9\tau lait \r\n\r\n"s, "HTTP/1.1 200  two\r\n\r\n"s,
        "HTTP/1.1 200 OK\r\nX: a\tb\r\n\r\n"s, "HTTP/1.1 200 OK\r\nX: \xe9\r\n\r\n"s,
        "HTTP/1.1 200 OK\r\nX: \r\nX-2: \r\n\r\n"s,
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nA: b\r\nset-cookie: a=1\r\nSet-Cookie: c=2\r\n\r\n"s,
        "HTTP/1.1 200 OK\r\nConnection: close,\r\nUpgrade: h2c\r\n\r\n"s,
        "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"s}) {
    check_response(head);
  }
}

TEST_CASE("BR-013 400 fields and a value of 40 KiB pass in order") {
  std::string head = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 400; ++i) {
    head += "X-" + std::to_string(i % 7) + ": " + std::to_string(i) + "\r\n";
  }
  head += "Long: " + std::string(40 * 1024, 'v') + "\r\n\r\n";
  for (const std::size_t size : {head.size(), std::size_t{1}, std::size_t{1000}}) {
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < head.size(); at += size) {
      pieces.push_back(std::string_view(head).substr(at, size));
    }
    CHECK(rewritten(H1Parser::Role::response, "GET", pieces) == head);
  }
}

TEST_CASE("BR-018 heads as real tokens need them pass") {
  check_request("GET /" + std::string(60, 'p') + " HTTP/1.1\r\nHost: a\r\n\r\n");
  std::string ninety = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 90; ++i) ninety += "X: " + std::string(300, 'x') + "\r\n";
  for (const std::string& head :
       {"GET / HTTP/1.1\r\nCookie: " + std::string(30'000, 'c') + "\r\n\r\n", ninety + "\r\n",
        "GET /?" + std::string(16'000, 'q') + " HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    CHECK(rewritten(H1Parser::Role::request, "", {head}) == head);
    const std::string_view view = head;
    CHECK(rewritten(H1Parser::Role::request, "", {view.substr(0, 9000), view.substr(9000)}) ==
          head);
  }
}

TEST_CASE("white space around a value does not belong to it") {
  const std::string head = "GET / HTTP/1.1\r\nA:1\r\nB: \t 2 3\t \r\nC: \t\r\nD:\r\n\r\n";
  at_every_split(head, [&](const auto& pieces) {
    REQUIRE(rewritten(H1Parser::Role::request, "", pieces) ==
            "GET / HTTP/1.1\r\nA: 1\r\nB: 2 3\r\nC: \r\nD: \r\n\r\n");
  });
}
