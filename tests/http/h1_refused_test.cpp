// What H1Parser must not let through: each is read in two ways by servers that are in use.
#include "tests/http/transcript.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;
using namespace std::string_literals;

namespace {

// The last line of what the parser says, the same for every split.
void check_refused_request(const std::string& bytes, std::string_view error) {
  CAPTURE(bytes);
  const std::string whole = Transcript::of_requests({bytes});
  CHECK(whole.ends_with("error " + std::string(error) + "\n"));
  CHECK(whole.find("end\n") == std::string::npos);
  at_every_split(bytes,
                 [&](const auto& pieces) { REQUIRE(Transcript::of_requests(pieces) == whole); });
}

void check_refused_response(const std::string& bytes, std::string_view error) {
  CAPTURE(bytes);
  const std::string whole = Transcript::of_responses("GET", {bytes});
  CHECK(whole.ends_with("error " + std::string(error) + "\n"));
  CHECK(whole.find("end\n") == std::string::npos);
  at_every_split(bytes, [&](const auto& pieces) {
    REQUIRE(Transcript::of_responses("GET", pieces) == whole);
  });
}

std::string post(const std::string& fields, const std::string& body) {
  return "POST /up HTTP/1.1\r\nHost: api.test\r\n" + fields + "\r\n" + body;
}
std::string ok(const std::string& fields, const std::string& body) {
  return "HTTP/1.1 200 OK\r\n" + fields + "\r\n" + body;
}

}  // namespace

TEST_CASE("request lines with two readings are refused") {
  for (const std::string& line : {"GET / HTTP/1.2"s,
                                  "GET / HTTP/2.0"s,
                                  "GET / HTTP/0.9"s,
                                  "GET / HTTP/1.10"s,
                                  "GET / HTTP/11"s,
                                  "GET / http/1.1"s,
                                  "GET / HTTP/1.1 "s,
                                  "GET / HTTP/ 1.1"s,
                                  "GET  / HTTP/1.1"s,
                                  "GET /  HTTP/1.1"s,
                                  " GET / HTTP/1.1"s,
                                  "\tGET / HTTP/1.1"s,
                                  "GET\t/ HTTP/1.1"s,
                                  "GET /\tHTTP/1.1"s,
                                  "get / HTTP/1.1"s,
                                  "Get / HTTP/1.1"s,
                                  "GET /"s,
                                  "GET"s,
                                  "GET / "s,
                                  "G(T / HTTP/1.1"s,
                                  "GET /a b HTTP/1.1"s,
                                  "GET /\xe9 HTTP/1.1"s,
                                  "GET /\x7f HTTP/1.1"s,
                                  "GET /\x0b HTTP/1.1"s,
                                  "GET /\0 HTTP/1.1"s,
                                  "GET /a\rb HTTP/1.1"s,
                                  "/ HTTP/1.1"s,
                                  "GET HTTP/1.1"s,
                                  "G\xc9T / HTTP/1.1"s,
                                  "GET / RTSP/1.0"s,
                                  "GET / HTTP/1.1x"s,
                                  "SOURCE / ICE/1.0"s,
                                  ": / HTTP/1.1"s,
                                  std::string(33, 'A') + " / HTTP/1.1",
                                  "\x16\x03\x01\x02"s}) {
    check_refused_request(line + "\r\nHost: api.test\r\n\r\n", "malformed");
  }
  check_refused_request("GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", "malformed");
  check_refused_request("GET / HTTP/1.1\nHost: a\n\n", "malformed");
  check_refused_request("\nGET / HTTP/1.1\r\n\r\n", "malformed");
  check_refused_request("\rGET / HTTP/1.1\r\n\r\n", "malformed");
  check_refused_request("\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n", "malformed");
  check_refused_request("\r\n \r\nGET / HTTP/1.1\r\n\r\n", "malformed");
}

TEST_CASE("status lines with two readings are refused") {
  for (const std::string& line : {"HTTP/1.2 200 OK"s,
                                  "HTTP/2 200 OK"s,
                                  "HTTP/1.1200 OK"s,
                                  "HTTP/1.1  200 OK"s,
                                  "HTTP/1.1 20 OK"s,
                                  "HTTP/1.1 2000 OK"s,
                                  "HTTP/1.1 099 OK"s,
                                  "HTTP/1.1 +20 OK"s,
                                  "HTTP/1.1 20x OK"s,
                                  "HTTP/1.1 200OK"s,
                                  "HTTP/1.1"s,
                                  "HTTP/1.1 "s,
                                  "HTTP/1.1 OK"s,
                                  " HTTP/1.1 200 OK"s,
                                  "http/1.1 200 OK"s,
                                  "ICY 200 OK"s,
                                  "200 OK"s,
                                  "HTTP/1.1\t200 OK"s,
                                  "HTTP/1.1 200\tOK"s,
                                  "HTTP/1.1 200 O\0K"s,
                                  "HTTP/1.1 200 O\rK"s,
                                  "HTTP/1.1 200 O\x7fK"s,
                                  ""s}) {
    check_refused_response(line + "\r\nContent-Length: 0\r\n\r\n", "malformed");
  }
  check_refused_response("\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "malformed");
}

TEST_CASE("fields with two readings are refused, in requests and responses") {
  for (const std::string& field :
       {"X : 1\r\n"s,      "X\t: 1\r\n"s,      " X: 1\r\n"s,      "\tX: 1\r\n"s,
        "X\r\n"s,          ": 1\r\n"s,         "X Y: 1\r\n"s,     "X(: 1\r\n"s,
        "X\xe9: 1\r\n"s,   "X\0: 1\r\n"s,      "X: a\0b\r\n"s,    "X: a\x01\r\n"s,
        "X: a\x7f\r\n"s,   "X: a\x0b\r\n"s,    "X: a\x0c\r\n"s,   "X: a\x1b[0m\r\n"s,
        "X: a\rb\r\n"s,    "X: a\r\r\n"s,      "X: a\nY: b\r\n"s, "X: a\n"s,
        "X: a\r\n b\r\n"s, "X: a\r\n\tb\r\n"s, "X: a\r\n \r\n"s,  "\"X\": 1\r\n"s,
        "X{}: 1\r\n"s,     "\r: 1\r\n"s,       "=\r\n"s}) {
    check_refused_request("GET / HTTP/1.1\r\n" + field + "Host: api.test\r\n\r\n", "malformed");
    check_refused_request("GET / HTTP/1.1\r\nHost: api.test\r\n" + field + "\r\n", "malformed");
    check_refused_response("HTTP/1.1 204 No\r\n" + field + "A: 1\r\n\r\n", "malformed");
  }
  check_refused_request("GET / HTTP/1.1\r\nHost: a\r\n\n", "malformed");
  check_refused_request("GET / HTTP/1.1\r\nHost: a\n\r\n", "malformed");
  check_refused_request("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", "malformed");
  check_refused_request("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "malformed");
}

TEST_CASE("BR-006 two lengths, or a length and a coding, are refused in both directions") {
  const std::string tail = "0\r\n\r\nGET /evil HTTP/1.1\r\nHost: api.test\r\n\r\n........";
  for (const std::string& fields : {"Content-Length: 50\r\nTransfer-Encoding: chunked\r\n"s,
                                    "Transfer-Encoding: chunked\r\nContent-Length: 50\r\n"s,
                                    "Content-Length: 5\r\nContent-Length: 6\r\n"s,
                                    "Content-Length: 5\r\ncontent-length: 5\r\n"s,
                                    "Content-Length: 5, 5\r\n"s,
                                    "Content-Length: 5,6\r\n"s,
                                    "Content-Length: +5\r\n"s,
                                    "Content-Length: -5\r\n"s,
                                    "Content-Length: 0x5\r\n"s,
                                    "Content-Length: 5 5\r\n"s,
                                    "Content-Length: 5;\r\n"s,
                                    "Content-Length: 5.0\r\n"s,
                                    "Content-Length: \"5\"\r\n"s,
                                    "Content-Length:\r\n"s,
                                    "Content-Length: abc\r\n"s,
                                    "Content-Length: 1e2\r\n"s,
                                    "Content-Length: 18446744073709551616\r\n"s,
                                    "Content-Length: 18446744073709551621\r\n"s,
                                    "Content-Length: 9223372036854775808\r\n"s,
                                    "Content-Length: 5\xe9\r\n"s,
                                    "Content-Length: 99999999999999999999999999\r\n"s}) {
    check_refused_request(post(fields, tail), "bad_framing");
    check_refused_response(ok(fields, tail), "bad_framing");
  }
}

TEST_CASE("BR-006 only chunked, once and alone, is a coding that is known") {
  for (const std::string& fields :
       {"Transfer-Encoding: gzip\r\n"s, "Transfer-Encoding: identity\r\n"s,
        "Transfer-Encoding: chunked, chunked\r\n"s, "Transfer-Encoding: gzip, chunked\r\n"s,
        "Transfer-Encoding: chunked, gzip\r\n"s, "Transfer-Encoding: chunked, identity\r\n"s,
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"s,
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"s,
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"s, "Transfer-Encoding:\r\n"s,
        "Transfer-Encoding: xchunked\r\n"s, "Transfer-Encoding: chunkedx\r\n"s,
        "Transfer-Encoding: \"chunked\"\r\n"s, "Transfer-Encoding: chunked;q=1\r\n"s,
        "Transfer-Encoding: ,chunked\r\n"s, "Transfer-Encoding: chunked,\r\n"s,
        "Transfer-Encoding: chun ked\r\n"s, "Transfer-Encoding: \xe9hunked\r\n"s}) {
    check_refused_request(post(fields, "0\r\n\r\n"), "bad_framing");
    check_refused_response(ok(fields, "0\r\n\r\n"), "bad_framing");
  }
  for (const std::string& fields :
       {"Transfer-Encoding : chunked\r\n"s,
        "Transfer-Encoding: \x0b"
        "chunked\r\n"s,
        "Transfer-Encoding:\r\n chunked\r\n"s, "X: y\rTransfer-Encoding: chunked\r\n"s,
        "X: y\nTransfer-Encoding: chunked\r\n"s, "Transfer-Encoding: chunked\0\r\n"s}) {
    check_refused_request(post(fields, "0\r\n\r\n"), "malformed");
    check_refused_response(ok(fields, "0\r\n\r\n"), "malformed");
  }
}

TEST_CASE("HTTP/1.0 has no transfer codings, and CONNECT has no body") {
  const std::string coded = "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  check_refused_request("POST / HTTP/1.0\r\n" + coded, "bad_framing");
  check_refused_response("HTTP/1.0 200 OK\r\n" + coded, "bad_framing");
  check_refused_request("CONNECT a.test:443 HTTP/1.1\r\n" + coded, "bad_framing");
  check_refused_request("CONNECT a.test:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
                        "bad_framing");
}

TEST_CASE("BR-008 bad chunks are refused in both directions, and the body does not end") {
  for (const std::string& body :
       {"10000000000000000\r\nhello\r\n0\r\n\r\n"s, "FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n"s,
        "-1\r\nhello\r\n0\r\n\r\n"s, "0x5\r\nhello\r\n0\r\n\r\n"s,
        "5;ext=\"a\r\nb\"\r\nhello\r\n0\r\n\r\n"s, "\r\nhello\r\n0\r\n\r\n"s,
        "5\r\nhello!\r\n0\r\n\r\n"s, "5\nhello\n0\n\n"s, "5\r\nhello\r\n0\n\r\n"s}) {
    check_refused_request(post("Transfer-Encoding: chunked\r\n", body), "bad_framing");
    check_refused_response(ok("Transfer-Encoding: chunked\r\n", body), "bad_framing");
  }
}

TEST_CASE("trailers are as strict as fields, and may not change framing or routing") {
  for (const std::string& trailers :
       {"X : 1\r\n\r\n"s, "X: 1\n\r\n"s, "X: 1\r\n\n"s, "\n"s, "X: 1\r\n folded\r\n\r\n"s,
        "X: a\0\r\n\r\n"s, " X: 1\r\n\r\n"s, "X\r\n\r\n"s, "\rX: 1\r\n\r\n"s}) {
    check_refused_request(post("Transfer-Encoding: chunked\r\n", "0\r\n" + trailers), "malformed");
    check_refused_response(ok("Transfer-Encoding: chunked\r\n", "0\r\n" + trailers), "malformed");
  }
  for (const std::string& trailers :
       {"Content-Length: 5\r\n\r\n"s, "Transfer-Encoding: chunked\r\n\r\n"s,
        "host: evil.test\r\n\r\n"s, "Content-Length: x\r\n\r\n"s}) {
    check_refused_request(post("Transfer-Encoding: chunked\r\n", "0\r\n" + trailers),
                          "bad_framing");
  }
}

TEST_CASE("BR-012 a head with bare line feeds is refused at once, not taken for a silent peer") {
  H1Parser parser(H1Parser::Role::response);
  parser.begin_response("GET");
  CHECK_FALSE(parser.started());
  std::string_view in = "HTTP/1.1 200 OK\n";
  CHECK(parser.next(in) == H1Event::error);
  CHECK(parser.error() == H1Error::malformed);
  CHECK(parser.started());
  in = "HTTP/1.1 200 OK\r\n\r\n";
  CHECK(parser.next(in) == H1Event::error);
  parser.begin_response("GET");
  CHECK(parser.next(in) == H1Event::error);
  CHECK(parser.eof() == H1Event::error);
}
