#include "http/target.hpp"

#include "tests/support/catch.hpp"

using namespace warder;
using Form = Target::Form;

TEST_CASE("origin form is split at its first question mark and kept as sent") {
  const auto target = parse_target("GET", "/a%2Fb//c;x=1?q=%20?&r=/");
  REQUIRE(target.has_value());
  CHECK(target->form == Form::origin);
  CHECK(target->path == "/a%2Fb//c;x=1");
  CHECK(target->has_query);
  CHECK(target->query == "q=%20?&r=/");
  CHECK_FALSE(target->host_port);
  CHECK_FALSE(target->scheme);
}

TEST_CASE("an empty query is not the same as none") {
  CHECK_FALSE(parse_target("GET", "/a")->has_query);
  CHECK(parse_target("GET", "/a?")->has_query);
  CHECK(parse_target("GET", "/a?")->query.empty());
}

TEST_CASE("BR-019 absolute form names scheme and host, and has a path even when it has none") {
  const auto bare = parse_target("GET", "http://Other.test");
  REQUIRE(bare.has_value());
  CHECK(bare->form == Form::absolute);
  CHECK(bare->scheme == Scheme::http);
  CHECK(bare->host_port->host.str() == "other.test");
  CHECK_FALSE(bare->host_port->port);
  CHECK(bare->path == "/");

  const auto full = parse_target("POST", "HTTPS://[::1]:8443?x");
  REQUIRE(full.has_value());
  CHECK(full->scheme == Scheme::https);
  CHECK(full->host_port->host.str() == "::1");
  CHECK(full->host_port->port == 8443);
  CHECK(full->path == "/");
  CHECK(full->query == "x");
}

TEST_CASE("CONNECT takes host and port, and nothing else does") {
  const auto target = parse_target("CONNECT", "API.test:443");
  REQUIRE(target.has_value());
  CHECK(target->form == Form::authority);
  CHECK(target->host_port->host.str() == "api.test");
  CHECK(target->host_port->port == 443);
  CHECK_FALSE(parse_target("GET", "api.test:443").has_value());
  for (const std::string_view text : {"api.test", "/", "*", "http://api.test/", "api.test:443/x"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_target("CONNECT", text).has_value());
  }
}

TEST_CASE("the asterisk is for OPTIONS") {
  CHECK(parse_target("OPTIONS", "*")->form == Form::asterisk);
  CHECK(parse_target("OPTIONS", "*")->path == "*");
  CHECK_FALSE(parse_target("GET", "*").has_value());
  CHECK_FALSE(parse_target("OPTIONS", "*x").has_value());
}

TEST_CASE("BR-145 targets that name two hosts are refused") {
  for (const std::string_view text : {"http://api.test@evil.test/",
                                      "http://api.test\\@evil.test/",
                                      "http://evil.test#@api.test/",
                                      "http://api.test:80:evil.test/",
                                      "http://user:pw@api.test/",
                                      "http://api.test\\evil/",
                                      "http:///x",
                                      "http://",
                                      "http:/x",
                                      "http:api.test",
                                      "https://:443/",
                                      "ftp://api.test/",
                                      "http://a b/",
                                      "http://api.test%00.evil.test/",
                                      "http://api.test:0/",
                                      "api.test/x",
                                      "?x",
                                      "#",
                                      "ws://api.test/",
                                      "http ://api.test/",
                                      "://api.test/"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_target("GET", text).has_value());
  }
}

TEST_CASE("BR-148 a CONNECT target with holes is refused") {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"evil.test\0.api.test:443"sv, "evil.test%00.api.test:443"sv, "evil.test\t.api.test:443"sv,
        "[evil.test]:443"sv, "[::1].api.test:443"sv, "api.test:443:80"sv, "api.test:"sv,
        "api.test:0"sv, ":443"sv, "api.test:99999"sv, "api.test:+443"sv, "user@api.test:443"sv,
        "127.1:443"sv, "2130706433:443"sv, "::1:443"sv}) {
    CAPTURE(text);
    CHECK_FALSE(parse_target("CONNECT", text).has_value());
  }
}

TEST_CASE("fragments, white space, control and non-ASCII bytes have no place in a target") {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, "/a#b"sv, "/a b"sv, "/a\tb"sv, "/a\x7f"sv, "/\xc3\xa9"sv, "/a\0b"sv, "/a\rb"sv,
        "/a\\b"sv, "/a?b\\c"sv, " /"sv, "/ "sv}) {
    CAPTURE(text);
    CHECK_FALSE(parse_target("GET", text).has_value());
  }
}

TEST_CASE("BR-079 a host beyond ASCII has a place in a target, a path has none") {
  CHECK(parse_target("CONNECT", "bücher.test:443")->host_port->host.str() == "xn--bcher-kva.test");
  CHECK(parse_target("GET", "http://bücher.test/x?y")->host_port->host.str() ==
        "xn--bcher-kva.test");
  CHECK(parse_target("GET", "http://bücher.test?y")->path == "/");
  for (const std::string_view text :
       {"http://bücher.test/ü", "http://bücher.test?ü", "http://api.test/ü", "/http://ü/", "ü",
        "hüttp://api.test/", "http:/ü", "http://ü@api.test/", "http://bücher.test#ü", "*ü"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_target("GET", text).has_value());
  }
  for (const std::string_view text :
       {"ü", "ü:443/ü", "ü@api.test:443", "１２７.0.0.1:443", "ü:４４３"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_target("CONNECT", text).has_value());
  }
}

TEST_CASE("paths with two readings are ambiguous") {
  for (const std::string_view path : {"/.",
                                      "/..",
                                      "/a/../b",
                                      "/a/./b",
                                      "/a/..",
                                      "/../a",
                                      "..",
                                      "/%2e",
                                      "/%2E%2e/x",
                                      "/.%2e/x",
                                      "/%2e./x",
                                      "/a/%2e%2e%2fb",
                                      "/a%2f..%2fb",
                                      "/a%2F%2e%2e",
                                      "/%2e%2f",
                                      "/a\\b",
                                      "/a%5Cb",
                                      "/a%5c..",
                                      "/a%00",
                                      "/%00b",
                                      "/%zz",
                                      "/a%",
                                      "/a%2",
                                      "/%%41",
                                      "/%2",
                                      "/% 41",
                                      "/..;/admin",
                                      "/a/..;x=1/b",
                                      "/.;a",
                                      "/..%3b/x",
                                      "/%2e%2e;x",
                                      "/a/%252e%252e/b",
                                      "/a/..%252fb",
                                      "/a/%25252E%25252e/b",
                                      "/%252e%252e/%25zz",
                                      "/a/..%255cb",
                                      "/a/%252e/b"}) {
    CAPTURE(path);
    CHECK(is_ambiguous_path(path));
  }
}

TEST_CASE("paths with one reading are not") {
  for (const std::string_view path : {"/",
                                      "*",
                                      "",
                                      "/a/b",
                                      "/...",
                                      "/.a",
                                      "/a.",
                                      "/..a",
                                      "/a..",
                                      "/a..b/c",
                                      "/.git/config",
                                      "/a%2Fb",
                                      "/@scope%2fname",
                                      "/%41",
                                      "/a;v=1",
                                      "/a%20b",
                                      "/a//b",
                                      "/.well-known/x",
                                      "/a/.../b",
                                      "/%25",
                                      "/%25zz/%2525",
                                      "/a%252Fb/%252e%252ex",
                                      "/~user",
                                      "/a,b(c)",
                                      "/x%2e",
                                      "/v1.2/x"}) {
    CAPTURE(path);
    CHECK_FALSE(is_ambiguous_path(path));
  }
}
