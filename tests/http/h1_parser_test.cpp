#include "http/h1_parser.hpp"

#include "tests/http/transcript.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;

namespace {

void check_requests(std::string_view bytes, std::string_view expected,
                    Ending ending = Ending::open) {
  CAPTURE(bytes);
  at_every_split(bytes, [&](const auto& pieces) {
    REQUIRE(Transcript::of_requests(pieces, ending) == expected);
  });
}

void check_responses(std::string_view method, std::string_view bytes, std::string_view expected,
                     Ending ending = Ending::open) {
  CAPTURE(bytes);
  at_every_split(bytes, [&](const auto& pieces) {
    REQUIRE(Transcript::of_responses(method, pieces, ending) == expected);
  });
}

}  // namespace

TEST_CASE("requests follow one another on a connection") {
  check_requests(
      "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /2 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
      "\r\nPOST /3 HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
      "\r\n\r\nGET /4 HTTP/1.0\r\n\r\n",
      "head GET /1 1\n  Host: [a]\nframing none\nend\n"
      "head POST /2 1\n  Content-Length: [5]\nframing length 5\nbody [hello]\nend\n"
      "head POST /3 1\n  Content-Length: [0]\nframing length 0\nend\n"
      "head GET /4 0\nframing none close\nend\n");
}

TEST_CASE("BR-001 a chunked upload is read chunk by chunk") {
  check_requests(
      "POST /up HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n0\r\n\r\nGET /next HTTP/1.1\r\n\r\n",
      "head POST /up 1\n  Host: [api.test]\n  Transfer-Encoding: [chunked]\n"
      "framing chunked\nbody [hello]\nend\nhead GET /next 1\nframing none\nend\n");
}

TEST_CASE("BR-013 chunk extensions are passed over and trailers delivered") {
  check_responses("GET",
                  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                  "5;a=b\r\nhello\r\n6 \r\n",
                  "head 200 [OK] 1\n  Transfer-Encoding: [chunked]\n  Trailer: [X-Sum]\n"
                  "framing chunked\nbody [hello]\nerror bad_framing\n");
  check_responses(
      "GET",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;a=\"b;c\"\r\nhello\r\n6\r\n world\r\n0;last\r\nX-Sum: 1\r\nx-sum: \t\xe9 \r\n\r\nHTTP",
      "head 200 [OK] 1\n  Transfer-Encoding: [chunked]\nframing chunked\n"
      "body [hello world]\nend\n  X-Sum: [1]\n  x-sum: [\xe9]\nrest [HTTP]\n");
}

TEST_CASE("BR-015 chunk sizes never end up in the body") {
  std::string coded = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string plain;
  for (const std::size_t size : {1, 7, 8191, 65536}) {
    const std::string data(size, static_cast<char>('a' + size % 26));
    char hex[20];
    std::snprintf(hex, sizeof hex, "%zX\r\n", size);
    coded += hex + data + "\r\n";
    plain += data;
  }
  coded += "0\r\n\r\n";
  for (const std::size_t step : {1UL, 16UL, 4096UL, 100'000UL}) {
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < coded.size(); at += step) {
      pieces.push_back(std::string_view(coded).substr(at, step));
    }
    CHECK(Transcript::of_responses("GET", pieces) ==
          "head 200 [OK] 1\n  Transfer-Encoding: [chunked]\nframing chunked\nbody [" + plain +
              "]\nend\n");
  }
}

TEST_CASE("BR-003 the head with Expect is told before any byte of its body is there") {
  check_requests("PUT /obj HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 1048576\r\n\r\n",
                 "head PUT /obj 1\n  Expect: [100-Continue]\n  Content-Length: [1048576]\n"
                 "framing length 1048576\n");
}

TEST_CASE("BR-010 an answer to HEAD and a 304 keep their length and have no body") {
  const std::string_view next = "HTTP/1.1 200 OK\r\n";
  check_responses("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 123456\r\n\r\n" + std::string(next),
                  "head 200 [OK] 1\n  Content-Length: [123456]\nframing none\nend\n"
                  "rest [HTTP/1.1 200 OK\r\n]\n");
  check_responses("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                  "head 200 [OK] 1\n  Transfer-Encoding: [chunked]\nframing none\nend\n");
  check_responses("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n",
                  "head 304 [Not Modified] 1\n  Content-Length: [10]\nframing none\nend\n");
  check_responses("HEAD", "HTTP/1.1 200 OK\r\n\r\n", "head 200 [OK] 1\nframing none\nend\n");
}

TEST_CASE("a 204 that announces a body has none, and its connection is not used again") {
  check_responses("GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
                  "head 204 [No Content] 1\n  Content-Length: [0]\nframing none\nend\n");
  check_responses("GET", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
                  "head 204 [No Content] 1\n  Content-Length: [5]\nframing none close\nend\n"
                  "rest [hello]\n");
  check_responses("GET", "HTTP/1.1 204 \r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                  "head 204 [] 1\n  Transfer-Encoding: [chunked]\nframing none close\nend\n"
                  "rest [0\r\n\r\n]\n");
}

TEST_CASE("interim responses are told one by one before the final one") {
  check_responses("PUT",
                  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
                  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                  "head 100 [Continue] 1\nframing none\nend\n"
                  "head 103 [Early Hints] 1\n  Link: [a]\nframing none\nend\n"
                  "head 200 [OK] 1\n  Content-Length: [2]\nframing length 2\nbody [ok]\nend\n");
}

TEST_CASE("what follows a 101 or a CONNECT belongs to the caller") {
  check_responses("GET",
                  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                  "Connection: Upgrade\r\n\r\n\x81\x05hello",
                  "head 101 [Switching Protocols] 1\n  Upgrade: [websocket]\n"
                  "  Connection: [Upgrade]\nframing none close\nend\nrest [\x81\x05hello]\n");
  check_responses("CONNECT", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nSSH-2.0",
                  "head 200 [OK] 1\n  Transfer-Encoding: [chunked]\nframing none close\nend\n"
                  "rest [SSH-2.0]\n");
  check_responses("CONNECT", "HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno",
                  "head 407 [No] 1\n  Content-Length: [2]\nframing length 2\nbody [no]\nend\n");
}

TEST_CASE("BR-023 a ClientHello in the same segment as its CONNECT is not lost") {
  check_requests("CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n\x16\x03\x01",
                 "head CONNECT other.test:443 1\n  Host: [other.test:443]\nframing none\nend\n"
                 "rest [\x16\x03\x01]\n");
  check_requests("CONNECT other.test:443 HTTP/1.0\r\nContent-Length: 0\r\n\r\n\x16",
                 "head CONNECT other.test:443 0\n  Content-Length: [0]\nframing none close\nend\n"
                 "rest [\x16]\n");
}

TEST_CASE("a response without length ends when its peer closes") {
  check_responses("GET", "HTTP/1.1 200 OK\r\n\r\nuntil \r\n the end",
                  "head 200 [OK] 1\nframing until_close close\nbody [until \r\n the end]\nend\n",
                  Ending::closed);
  check_responses("GET", "HTTP/1.0 200\r\n\r\n", "head 200 [] 0\nframing until_close close\nend\n",
                  Ending::closed);
}

TEST_CASE("a close inside a message never ends it cleanly") {
  for (const std::string_view bytes :
       {"H", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: 1\r\n"}) {
    CAPTURE(bytes);
    at_every_split(bytes, [&](const auto& pieces) {
      const std::string said = Transcript::of_responses("GET", pieces, Ending::closed);
      REQUIRE(said.ends_with("error truncated\n"));
      REQUIRE(said.find("end\n") == std::string::npos);
    });
  }
}

TEST_CASE("a close between messages is no error") {
  CHECK(Transcript::of_requests({}, Ending::closed) == "eof\n");
  CHECK(Transcript::of_requests({"\r\n"}, Ending::closed) == "eof\n");
  CHECK(Transcript::of_requests({"\r\n", "\r\n"}, Ending::closed) == "eof\n");
  CHECK(Transcript::of_requests({"\r\nG"}, Ending::closed) == "error truncated\n");
  CHECK(Transcript::of_responses("GET", {""}, Ending::closed) == "eof\n");
  CHECK(Transcript::of_responses("GET", {"\r"}, Ending::closed) == "error truncated\n");
  CHECK(Transcript::of_requests({"GET / HTTP/1.1\r\n\r\n"}, Ending::closed) ==
        "head GET / 1\nframing none\nend\neof\n");
}

TEST_CASE("BR-012 one byte of an answer counts as started, so that nothing is sent twice") {
  H1Parser parser(H1Parser::Role::response);
  parser.begin_response("GET");
  std::string_view in;
  CHECK(parser.next(in) == H1Event::need_more);
  CHECK_FALSE(parser.started());
  in = "H";
  CHECK(parser.next(in) == H1Event::need_more);
  CHECK(in.empty());
  CHECK(parser.started());
  CHECK(parser.eof() == H1Event::error);
  CHECK(parser.error() == H1Error::truncated);
}

TEST_CASE("the next message starts unstarted and without what the last one left") {
  H1Parser parser(H1Parser::Role::request);
  parser.begin_request();
  std::string_view in =
      "POST / HTTP/1.1\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: 1\r\n\r\n";
  CHECK(parser.next(in) == H1Event::head);
  CHECK(parser.next(in) == H1Event::end);
  CHECK(parser.trailers().size() == 1);
  parser.begin_request();
  CHECK_FALSE(parser.started());
  CHECK(parser.trailers().empty());
  in = "GET / HTTP/1.0\r\n\r\n";
  CHECK(parser.next(in) == H1Event::head);
  CHECK(parser.request().fields.empty());
  CHECK(parser.framing() == Framing{});
  CHECK(parser.next(in) == H1Event::end);
  CHECK(parser.trailers().empty());
}

TEST_CASE("a body is a view into the input, not a copy, and takes no byte too much") {
  H1Parser parser(H1Parser::Role::request);
  parser.begin_request();
  const std::string bytes = "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhelloGET";
  std::string_view in = bytes;
  REQUIRE(parser.next(in) == H1Event::head);
  const char* begin = in.data();
  REQUIRE(parser.next(in) == H1Event::body);
  CHECK(parser.body().data() == begin);
  CHECK(parser.body() == "hello");
  REQUIRE(parser.next(in) == H1Event::end);
  CHECK(in == "GET");
}

TEST_CASE("whether another message may follow") {
  const std::pair<std::string_view, bool> requests[] = {
      {"GET / HTTP/1.1\r\n\r\n", true},
      {"GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", false},
      {"GET / HTTP/1.1\r\nConnection: keep-alive\r\nConnection: x, close\r\n\r\n", false},
      {"GET / HTTP/1.1\r\nConnection: closed\r\n\r\n", true},
      {"GET / HTTP/1.0\r\n\r\n", false},
      {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
      {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false}};
  for (const auto& [bytes, expected] : requests) {
    CAPTURE(bytes);
    H1Parser parser(H1Parser::Role::request);
    parser.begin_request();
    std::string_view in = bytes;
    REQUIRE(parser.next(in) == H1Event::head);
    CHECK(parser.keep_alive() == expected);
  }
}

TEST_CASE("BR-018 what passes a limit is refused with its own word, at every split") {
  const HeadLimits limits{.bytes = 200, .fields = 3, .target = 50, .trailer_bytes = 30};
  const auto check = [&](const std::string& bytes, std::string_view expected) {
    CAPTURE(bytes);
    at_every_split(bytes, [&](const auto& pieces) {
      REQUIRE(Transcript::of_requests(pieces, Ending::open, limits).ends_with(expected));
    });
  };
  const std::string line = "GET / HTTP/1.1\r\n";
  const auto head_of = [&](std::size_t size) {
    return line + "X: " + std::string(size - line.size() - 7, 'x') + "\r\n\r\n";
  };
  check(head_of(200), "end\n");
  check(head_of(201), "error head_too_large\n");
  check(line + "X: " + std::string(2000, 'x'), "error head_too_large\n");
  check(line + "A: 1\r\nB: 2\r\nC: 3\r\n\r\n", "end\n");
  check(line + "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n", "error head_too_large\n");
  check("GET /" + std::string(49, 'p') + " HTTP/1.1\r\n\r\n", "end\n");
  check("GET /" + std::string(50, 'p') + " HTTP/1.1\r\n\r\n", "error uri_too_long\n");
  check("GET /" + std::string(150, 'p'), "error uri_too_long\n");
  const std::string post = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  check(post + "X: " + std::string(23, 'x') + "\r\n\r\n", "]\n");
  check(post + "X: " + std::string(24, 'x') + "\r\n\r\n", "error head_too_large\n");
  check(post + "A:1\r\nB:1\r\nC:1\r\nD:1\r\n\r\n", "error head_too_large\n");
}

TEST_CASE("BR-018 the default limits hold: 256 KiB of head, 64 KiB of target, 1000 fields") {
  std::string fields = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 1000; ++i) fields += "A: 1\r\n";
  CHECK(Transcript::of_requests({fields + "\r\n"}).ends_with("end\n"));
  CHECK(Transcript::of_requests({fields + "A: 1\r\n\r\n"}) == "error head_too_large\n");
  const auto get = [](std::size_t size) {
    return "GET /" + std::string(size - 1, 'p') + " HTTP/1.1\r\n\r\n";
  };
  CHECK(Transcript::of_requests({get(64 * 1024)}).ends_with("end\n"));
  CHECK(Transcript::of_requests({get(64 * 1024 + 1)}) == "error uri_too_long\n");
  const std::string two_mib = "GET / HTTP/1.1\r\nX: " + std::string(2 << 20, 'x');
  CHECK(Transcript::of_requests({two_mib}) == "error head_too_large\n");
  std::string one_byte = "x";
  H1Parser parser(H1Parser::Role::response);
  parser.begin_response("GET");
  std::string_view in = "HTTP/1.1 200 OK\r\nX: ";
  H1Event event = parser.next(in);
  std::size_t fed = in.size();
  for (; event == H1Event::need_more; ++fed) {
    in = one_byte;
    event = parser.next(in);
  }
  CHECK(event == H1Event::error);
  CHECK(fed <= 256 * 1024);
}
