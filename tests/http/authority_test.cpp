#include "http/authority.hpp"

#include "tests/support/catch.hpp"

using namespace warder;
using Kind = HostName::Kind;

namespace {

// The error's code, 0 when the text is a host name.
error_code refusal(std::string_view text) {
  const Result<HostName> host = HostName::parse(text);
  return host ? error_code{} : host.error();
}

Authority authority(Scheme scheme, std::string_view host, std::uint16_t port) {
  return {scheme, HostName::parse(host).value(), port};
}

}  // namespace

TEST_CASE("BR-079 every spelling of one DNS name is one name") {
  for (const std::string_view text : {"api.test", "API.TEST", "api.test.", "Api.TesT."}) {
    CAPTURE(text);
    REQUIRE(HostName::parse(text).has_value());
    CHECK(HostName::parse(text)->str() == "api.test");
    CHECK(HostName::parse(text)->kind() == Kind::name);
  }
  CHECK(HostName::parse("xn--bcher-kva.test")->str() == "xn--bcher-kva.test");
  CHECK(HostName::parse("XN--BCHER-KVA.test")->str() == "xn--bcher-kva.test");
  CHECK(HostName::parse("r3---sn-4g5e.video.test")->str() == "r3---sn-4g5e.video.test");
  CHECK(HostName::parse("_dmarc.my_host.test")->str() == "_dmarc.my_host.test");
  CHECK(HostName::parse("localhost")->str() == "localhost");
  CHECK(HostName::parse("1e100.net")->str() == "1e100.net");
  CHECK(HostName::parse("0.client-channel.test")->str() == "0.client-channel.test");
  CHECK(HostName::parse("0xff.test")->str() == "0xff.test");
}

TEST_CASE("BR-079 empty labels and spaces are refused") {
  CHECK(refusal("") == AuthorityError::empty);
  CHECK(refusal(".") == AuthorityError::empty);
  for (const std::string_view text :
       {"api.test..", "..", ".api.test", "api..test", "-api.test", "api-.test", "api.-", "a.b-"}) {
    CAPTURE(text);
    CHECK(refusal(text) == AuthorityError::bad_label);
  }
  for (const std::string_view text : {" api.test", "api.test "}) {
    CAPTURE(text);
    CHECK(refusal(text) == AuthorityError::bad_character);
  }
}

TEST_CASE("BR-079 a name in its own letters is its A-label in every form") {
  const std::pair<std::string_view, std::string_view> same[] = {
      {"bücher.test", "xn--bcher-kva.test"},
      {"BÜCHER.Test", "xn--bcher-kva.test"},
      {"bücher.test.", "xn--bcher-kva.test"},
      {"bu\u0308cher.test", "xn--bcher-kva.test"},  // the umlaut as a mark of its own
      {"bücher。test", "xn--bcher-kva.test"},
      {"bücher．ｔｅｓｔ｡", "xn--bcher-kva.test"},
      {"XN--BCHER-KVA.test", "xn--bcher-kva.test"},
      {"faß.test", "xn--fa-hia.test"},  // not fass.test: non-transitional
      {"βόλος.test", "xn--nxasmm1c.test"},
      {"例え.テスト", "xn--r8jz45g.xn--zckzah"},
      {"ａｐｉ.test", "api.test"},
      {"api\u00ad.test", "api.test"},   // a soft hyphen is nothing
      {"\u212aube.test", "kube.test"},  // the Kelvin sign
      {"_dmarc.bücher.test", "_dmarc.xn--bcher-kva.test"},
      {"xn--bcher-kva.bücher.test", "xn--bcher-kva.xn--bcher-kva.test"}};
  for (const auto& [text, canonical] : same) {
    CAPTURE(text);
    REQUIRE(HostName::parse(text).has_value());
    CHECK(HostName::parse(text)->str() == canonical);
    CHECK(HostName::parse(text)->kind() == Kind::name);
    CHECK(parse_host_port(std::string(text) + ":8443")->host.str() == canonical);
  }
}

TEST_CASE("BR-079 A-labels are compared as they are, never decoded") {
  // An emoji, and two that decode to nothing: DNS and TLS compare these bytes too.
  for (const std::string_view text :
       {"xn--ls8h.test", "xn--zzzzzzz.test", "xn--99zzz.test", "r3---sn-4.test"}) {
    CAPTURE(text);
    CHECK(HostName::parse(text)->str() == text);
  }
  // What decodes to ASCII ends in a hyphen.
  CHECK(refusal("xn--api-.test") == AuthorityError::bad_label);
}

TEST_CASE("BR-081 letters beyond ASCII never make an address") {
  for (const std::string_view text :
       {"１２７.0.0.1", "１２７。０。０。１", "127。0。0。1", "①②⑦.0.0.1", "127.0.0.１",
        "２１３０７０６４３３", "０ｘ7f.0.0.1", "0ｘ7f000001", "127．1", "ü.1", "ü.０ｘ7f",
        "127.0.0.1\u00ad", "127.0.0.1。"}) {
    CAPTURE(text);
    CHECK(refusal(text) == AuthorityError::odd_ipv4);
  }
  for (const std::string_view text :
       {"［::1］", "::１", "[::１]", "fe80::1％25", "[ü]", "ü:1", "：：1"}) {
    CAPTURE(text);
    CHECK(refusal(text).category() == make_error_code(AuthorityError::empty).category());
    CHECK_FALSE(HostName::parse(text).has_value());
  }
}

TEST_CASE("BR-148 what becomes a character that no host has is refused, not left out") {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"a／b.test"sv, "℀.test"sv, "％41.test"sv, "＊.test"sv, "ü@x.test"sv, "ü x.test"sv, "ü/x"sv,
        "ü\0.test"sv, "evil.test\0.ü.test"sv, "ü\n.test"sv, "api：443"sv, "ü\\x"sv, "a＝b.test"sv,
        // not UTF-8: a lone byte, an overlong dot, a surrogate, beyond Unicode, cut off
        "\xff.test"sv, "\xc0\xae.test"sv, "\xed\xa0\x80.test"sv, "\xf4\x90\x80\x80.test"sv,
        "b\xc3"sv}) {
    CAPTURE(text);
    CHECK(refusal(text) == AuthorityError::bad_character);
  }
  for (const std::string_view text : {"ü..test"sv, ".ü.test"sv, "ü。。"sv, "\u00ad.test"sv,
                                      "\u200b.ü"sv, "-ü.test"sv, "ü-.test"sv, "ü.-"sv}) {
    CAPTURE(text);
    CHECK(refusal(text) == AuthorityError::bad_label);
  }
  // Of these it depends on the library's version whether a character or the label is to blame.
  for (const std::string_view text : {"ü＠x.test", "ü＃", "ü？x", "ü／"}) {
    CAPTURE(text);
    CHECK_FALSE(HostName::parse(text).has_value());
  }
  CHECK(refusal("。") == AuthorityError::empty);
  CHECK(refusal("\u00ad") == AuthorityError::empty);
  for (const std::string_view text : {"☃.test", "💩.test", "אa.test", "a\u200db.test",
                                      "\u0300a.test", "xn--bücher.test", "xn--a.ü.test"}) {
    CAPTURE(text);
    CHECK(refusal(text) == AuthorityError::bad_idn);
  }
}

TEST_CASE("an internationalized name has the bounds of its A-labels") {
  std::string label;
  for (int i = 0; i < 57; ++i) label += "ä";
  CHECK(HostName::parse(label + ".test").has_value());
  for (int i = 0; i < 40; ++i) label += "ä";
  CHECK(refusal(label + ".test") == AuthorityError::bad_label);
  std::string name;
  for (int i = 0; i < 60; ++i) name += "ä.";
  CHECK(refusal(name + "test") == AuthorityError::too_long);
  std::string huge;
  while (huge.size() < 200'000) huge += "ä.";
  CHECK(refusal(huge) == AuthorityError::too_long);
}

TEST_CASE("BR-148 hosts that a resolver and a matcher read in two ways are refused") {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"evil.test\0.api.test"sv, "evil.test%00.api.test"sv, "evil.test\r\nHost: x"sv,
        "evil.test\t.api.test"sv, "evil.test .api.test"sv, "user@api.test"sv, "api.test/x"sv,
        "api.test\\x"sv, "*.api.test"sv, "api.test#"sv, "api.test?"sv, "api,test"sv, "]"sv,
        "api.test:443"sv, "a.test\x7f"sv, "\0"sv}) {
    CAPTURE(text);
    CHECK(refusal(text) == AuthorityError::bad_character);
  }
  for (const std::string_view text :
       {"[evil.test]", "[::1].api.test", "[", "[]", "[::1", "[1.2.3.4]"}) {
    CAPTURE(text);
    CHECK(refusal(text) == AuthorityError::bad_ipv6);
  }
}

TEST_CASE("labels end at 63 bytes and names at 253") {
  const std::string label(63, 'a');
  CHECK_FALSE(refusal(label + ".test"));
  CHECK(refusal(label + "a.test") == AuthorityError::bad_label);
  CHECK(refusal(std::string(300, 'a')) == AuthorityError::too_long);
  const std::string longest = label + '.' + label + '.' + label + '.' + std::string(61, 'b');
  REQUIRE(longest.size() == 253);
  CHECK_FALSE(refusal(longest));
  CHECK_FALSE(refusal(longest + '.'));
  CHECK(refusal(longest + 'b') == AuthorityError::too_long);
}

TEST_CASE("BR-081 an IPv4 address has one spelling, and all others are refused") {
  for (const std::string_view text : {"127.0.0.1", "0.0.0.0", "255.255.255.255", "10.77.0.9"}) {
    CAPTURE(text);
    REQUIRE(HostName::parse(text).has_value());
    CHECK(HostName::parse(text)->kind() == Kind::ipv4);
    CHECK(HostName::parse(text)->str() == text);
  }
  for (const std::string_view text :
       {"2130706433", "0x7f.0.0.1", "0X7F.0.0.1", "0177.0.0.1", "127.1", "127.0.1", "127.0.0.01",
        "127.0.0.256", "127.0.0.1.", "1.2.3.4.5", "0x7f000001", "0x", "127.0.0.0x1", "0", "999",
        "api.test.1", "api.0x7f", "1.2.3.0000004"}) {
    CAPTURE(text);
    CHECK(refusal(text) == AuthorityError::odd_ipv4);
  }
}

TEST_CASE("an IPv6 address has one canonical text") {
  const std::pair<std::string_view, std::string_view> same[] = {
      {"::1", "::1"},
      {"[::1]", "::1"},
      {"0:0:0:0:0:0:0:1", "::1"},
      {"2001:DB8:0:0::0001", "2001:db8::1"},
      {"[2001:db8::1]", "2001:db8::1"},
      {"::ffff:1.2.3.4", "::ffff:1.2.3.4"},
      {"::FFFF:102:304", "::ffff:1.2.3.4"},
      {"::", "::"}};
  for (const auto& [text, canonical] : same) {
    CAPTURE(text);
    REQUIRE(HostName::parse(text).has_value());
    CHECK(HostName::parse(text)->kind() == Kind::ipv6);
    CHECK(HostName::parse(text)->str() == canonical);
  }
  for (const std::string_view text :
       {"fe80::1%25", ":::", "1::2::3", "12345::", "::1.2.3", "::ffff:01.2.3.4", ":1",
        "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "[::1]]", "[[::1]]", "::1]"}) {
    CAPTURE(text);
    CHECK(refusal(text) == AuthorityError::bad_ipv6);
  }
  CHECK_FALSE(HostName::parse("fe80::1%eth0").has_value());
  CHECK_FALSE(HostName::parse("::1\n").has_value());
}

TEST_CASE("an authority is written as its places want it") {
  CHECK(authority(Scheme::https, "API.test.", 443).origin() == "https://api.test");
  CHECK(authority(Scheme::https, "api.test", 80).origin() == "https://api.test:80");
  CHECK(authority(Scheme::http, "::1", 80).origin() == "http://[::1]");
  CHECK(authority(Scheme::http, "::1", 8080).origin() == "http://[::1]:8080");
  CHECK(authority(Scheme::tcp, "db.test", 443).origin() == "tcp://db.test:443");
  CHECK(authority(Scheme::https, "api.test", 443).host_port() == "api.test:443");
  CHECK(authority(Scheme::https, "2001:db8::1", 443).host_port() == "[2001:db8::1]:443");
  CHECK(authority(Scheme::https, "A.test", 1) == authority(Scheme::https, "a.test.", 1));
  CHECK(authority(Scheme::https, "a.test", 1) != authority(Scheme::http, "a.test", 1));
}

TEST_CASE("a host with a port") {
  const auto plain = parse_host_port("API.test:443");
  REQUIRE(plain.has_value());
  CHECK(plain->host.str() == "api.test");
  CHECK(plain->port == 443);
  CHECK_FALSE(parse_host_port("api.test")->port.has_value());
  CHECK(parse_host_port("[::1]:65535")->port == 65535);
  CHECK(parse_host_port("[::1]:65535")->host.str() == "::1");
  CHECK_FALSE(parse_host_port("[::1]")->port.has_value());
}

TEST_CASE("BR-148 ports and authorities with holes are refused") {
  for (const std::string_view text :
       {"api.test:", "api.test:0", "api.test:99999", "api.test:65536", "api.test:+443",
        "api.test:-1", "api.test:443:80", "api.test: 443", "api.test:443 ", "api.test:0443",
        "api.test:443x", "api.test:0x1bb", "[::1]:", "[::1]:0"}) {
    CAPTURE(text);
    REQUIRE_FALSE(parse_host_port(text).has_value());
    CHECK(parse_host_port(text).error() == AuthorityError::bad_port);
  }
  for (const std::string_view text :
       {"", ":443", "user@api.test:443", "user:pw@api.test:443", "::1", "[::1]443", "[::1]x:443",
        "[evil.test]:443", "[::1", "api.test/:443", "[::1].api.test:443"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_host_port(text).has_value());
  }
}

TEST_CASE("an authority's error has a text that does not repeat the input") {
  CHECK(std::string(refusal("a b").category().name()) == "warder.authority");
  CHECK(refusal("a b").message() == "a character that no host name has");
}
