#include "http/hop_by_hop.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

namespace {

HeaderList fields(std::initializer_list<std::pair<const char*, const char*>> list) {
  HeaderList out;
  for (const auto& [name, value] : list) out.add(name, value);
  return out;
}

}  // namespace

TEST_CASE("BR-021 what belongs to one connection does not reach the origin") {
  HeaderList list = fields({{"Host", "api.test"},
                            {"Proxy-Authorization", "Basic dG9rOnRvaw=="},
                            {"Proxy-Connection", "keep-alive"},
                            {"Connection", "close, X-Hop"},
                            {"X-Hop", "1"},
                            {"Accept", "*/*"},
                            {"x-hop", "2"},
                            {"Keep-Alive", "5"},
                            {"TE", "trailers, deflate"},
                            {"Authorization", "Bearer PH_TOK"}});
  REQUIRE(strip_hop_by_hop(list));
  CHECK(list == fields({{"Host", "api.test"},
                        {"Accept", "*/*"},
                        {"TE", "trailers"},
                        {"Authorization", "Bearer PH_TOK"}}));
}

TEST_CASE("BR-021 Connection cannot take off a field that the message needs") {
  for (const char* named :
       {"authorization", "Cookie", "HOST", "content-length", "Content-Type", "Content-Encoding",
        "Set-Cookie", "Cache-Control", "x-forwarded-for", "X-Api-Key", "Sec-WebSocket-Key",
        "Trailer", "close, Authorization", "x-hop,, cookie ,"}) {
    CAPTURE(named);
    HeaderList list = fields({{"Connection", named}, {"Authorization", "Bearer PH_TOK"}});
    CHECK_FALSE(strip_hop_by_hop(list));
  }
}

TEST_CASE("a second Connection field counts as the first does") {
  HeaderList hop = fields({{"connection", "close"}, {"CONNECTION", "x-a"}, {"X-A", "1"}});
  REQUIRE(strip_hop_by_hop(hop));
  CHECK(hop.empty());
  HeaderList attack = fields({{"Connection", "close"}, {"Connection", "cookie"}});
  CHECK_FALSE(strip_hop_by_hop(attack));
}

TEST_CASE("a Connection option that is no token is malformed") {
  for (const char* named : {"a b", "\"x\"", "x;y", "x:y", "a\xe9"}) {
    CAPTURE(named);
    HeaderList list = fields({{"Connection", named}});
    CHECK_FALSE(strip_hop_by_hop(list));
  }
}

TEST_CASE("of TE only trailers is passed on, once") {
  HeaderList twice = fields({{"TE", "gzip"}, {"A", "1"}, {"te", "Trailers"}});
  REQUIRE(strip_hop_by_hop(twice));
  CHECK(twice == fields({{"TE", "trailers"}, {"A", "1"}}));
  HeaderList named = fields({{"Connection", "TE"}, {"TE", "trailers"}});
  REQUIRE(strip_hop_by_hop(named));
  CHECK(named == fields({{"TE", "trailers"}}));
  HeaderList none = fields({{"TE", "gzip;q=1, deflate"}});
  REQUIRE(strip_hop_by_hop(none));
  CHECK(none.empty());
}

TEST_CASE("framing, upgrade and proxy fields of a response are taken off, Trailer stays") {
  HeaderList list = fields({{"Transfer-Encoding", "chunked"},
                            {"Trailer", "X-Sum"},
                            {"Upgrade", "websocket"},
                            {"Connection", "Upgrade, HTTP2-Settings"},
                            {"HTTP2-Settings", "AAMAAABk"},
                            {"Proxy-Authenticate", "Basic"},
                            {"Set-Cookie", "a=1"},
                            {"Set-Cookie", "b=2"}});
  REQUIRE(strip_hop_by_hop(list));
  CHECK(list == fields({{"Trailer", "X-Sum"}, {"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}}));
}

TEST_CASE("a message without such fields is left as it is") {
  HeaderList list =
      fields({{"Host", "a"}, {"Connection-Id", "1"}, {"X-Upgrade", "2"}, {"Tea", "3"}});
  const HeaderList before = list;
  REQUIRE(strip_hop_by_hop(list));
  CHECK(list == before);
}
