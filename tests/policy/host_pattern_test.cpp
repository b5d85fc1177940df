// Every entry that could be meant in two ways is refused with its correction; none is silently nothing.
#include "policy/host_pattern.hpp"

#include "tests/policy/rules.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {
std::string fault(std::string_view text) {
  const auto parsed = HostPattern::parse(text);
  const auto* sentence = std::get_if<std::string>(&parsed);
  return sentence == nullptr ? "taken as " + std::get<HostPattern>(parsed).str() : *sentence;
}
bool matches(const std::string& pattern, const std::string& host) {
  return host_pattern(pattern).matches(HostName::parse(host).value());
}
}  // namespace

TEST_CASE("host patterns that are not one say the correction") {
  const std::pair<std::string, std::string> table[] = {
      {"", R"("" is no host: write a name such as "api.example.com")"},
      {"*",
       R"("*" would mean every host: name the hosts, or write "*.example.com" for all below one)"},
      {"**",
       R"("**" would mean every host: name the hosts, or write "*.example.com" for all below one)"},
      {"cloud.*",
       R"("cloud.*" has a wildcard where none can stand: only "*." (below a name) or "**." (the name and below) may lead, as in "*.example.com")"},
      {"api-*.test",
       R"("api-*.test" has a wildcard where none can stand: only "*." (below a name) or "**." (the name and below) may lead, as in "*.example.com")"},
      {"https://api.test/",
       R"("https://api.test/" has a scheme, which a host does not have: write api.test instead)"},
      {"https://api.test:8443/v1?x=1",
       R"("https://api.test:8443/v1?x=1" has a scheme, which a host does not have: write api.test and ports: [8443] and paths: ["/v1"] instead)"},
      {"api.test/path",
       R"("api.test/path" has a path, which a host does not have: write api.test and paths: ["/path"] instead)"},
      {"api.test:443",
       R"("api.test:443" has a port, which a host does not have: write api.test and ports: [443] instead)"},
      {"*.api.test:443",
       R"("*.api.test:443" has a port, which a host does not have: write *.api.test and ports: [443] instead)"},
      {"[fd77::2]:443",
       R"("[fd77::2]:443" has a port, which a host does not have: write fd77::2 and ports: [443] instead)"},
      {"10.77.0.1/24",
       R"("10.77.0.1/24" has bits set behind its prefix: write 10.77.0.0/24, or the one address as 10.77.0.1)"},
      {"fd77::1/16",
       R"("fd77::1/16" has bits set behind its prefix: write fd77::/16, or the one address as fd77::1)"},
      {"10.0.0.0/33", R"("10.0.0.0/33" has no prefix length from 0 to 32: write 10.0.0.0/32)"},
      {"10.0.0.0/08", R"("10.0.0.0/08" has no prefix length from 0 to 32: write 10.0.0.0/8)"},
      {"10.0.0.0/99999999999",
       R"("10.0.0.0/99999999999" has no prefix length from 0 to 32: write 10.0.0.0/32)"},
      {"::/129", R"("::/129" has no prefix length from 0 to 128: write ::/128)"},
      {"FD00::/8", R"("FD00::/8" is spelled in an unusual way: write fd00::/8)"},
      {"::ffff:10.0.0.0/104",
       R"("::ffff:10.0.0.0/104" is spelled in an unusual way: write 10.0.0.0/8)"},
      {"10.0.0.0/",
       R"("10.0.0.0/" has a path, which a host does not have: write 10.0.0.0 instead)"},
      {"api.test/8",
       R"("api.test/8" has a path, which a host does not have: write api.test and paths: ["/8"] instead)"},
      {" api.test ",
       R"(" api.test " has a space or control character in it: write api.test instead)"},
      {"a b", R"("a b" has a space or control character in it: write the name alone)"},
      {"api.test\n",
       R"("api.test\x0a" has a space or control character in it: write api.test instead)"},
      {"api..test", R"("api..test" has an empty label: write "api.test")"},
      {".dot.test",
       R"(".dot.test" begins with a dot: write "**.dot.test" for the name and all below, or "*.dot.test" for all below)"},
      {"☃.test",
       R"("☃.test" is no host name (characters that no internationalized name has): write the name's A-label form, which begins with "xn--")"},
      {"１２７.0.0.1",
       R"("１２７.0.0.1" is a spelling of an IPv4 address that not everybody reads alike: write four decimal numbers, such as 192.0.2.1)"},
      {"https://bücher.test/",
       R"("https://bücher.test/" has a scheme, which a host does not have: write xn--bcher-kva.test instead)"},
      {"a／b.test",
       R"("a／b.test" is no host name (a character that no host name has): write a name such as "api.example.com")"},
      {"＊.bücher.test",
       R"("＊.bücher.test" is no host name (a character that no host name has): write a name such as "api.example.com")"},
      {"127.1",
       R"("127.1" is a spelling of an IPv4 address that not everybody reads alike: write four decimal numbers, such as 192.0.2.1)"},
      {"2130706433",
       R"("2130706433" is a spelling of an IPv4 address that not everybody reads alike: write four decimal numbers, such as 192.0.2.1)"},
      {"*.10.0.0.1", R"("*.10.0.0.1" puts a wildcard before an address: write 10.0.0.1)"},
      {"user@api.test",
       R"("user@api.test" has a user name, which a host does not have: write api.test instead)"},
  };
  for (const auto& [text, sentence] : table) CHECK(fault(text) == sentence);
}

TEST_CASE("nothing odd is taken, however deep it is wrapped") {
  for (const char* text : {"*.",         "**.",
                           "*.*.test",   "***.test",
                           "*test",      "a.*.test",
                           "[api.test]", "[::1].api.test",
                           "api.test:",  "api.test:443:80",
                           "::1%eth0",   "-x.test",
                           "x\\y.test",  "http://",
                           "://",        "@",
                           "/",          "?",
                           "#",          "[",
                           "]",          "[]",
                           ":",          "::g",
                           "a,b",        "a|b",
                           "!api.test",  "^api.test$",
                           "~.test",     "{a,b}.test"}) {
    CAPTURE(text);
    CHECK_FALSE(fault(text).starts_with("taken as"));
  }
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "a://@";
  CHECK_FALSE(fault(nested).starts_with("taken as"));
  CHECK(fault(nested).size() < 400);
  CHECK_FALSE(fault(std::string("evil.test\0.api.test", 19)).starts_with("taken as"));
}

TEST_CASE("a host is normalised as requests are") {
  CHECK(host_pattern("API.TEST.").str() == "api.test");
  CHECK(host_pattern("*.Wild.Test").str() == "*.wild.test");
  CHECK(host_pattern("[2001:DB8::1]").str() == "2001:db8::1");
  CHECK(host_pattern("10.77.0.2").str() == "10.77.0.2");
  CHECK(host_pattern("API.test") == host_pattern("api.test."));
}

TEST_CASE("a wildcard stops at a label's boundary") {
  CHECK(matches("api.test", "API.test."));
  CHECK_FALSE(matches("api.test", "xapi.test"));
  CHECK_FALSE(matches("api.test", "a.api.test"));
  CHECK(matches("*.wild.test", "a.wild.test"));
  CHECK(matches("*.wild.test", "a.b.wild.test"));
  CHECK_FALSE(matches("*.wild.test", "wild.test"));
  CHECK_FALSE(matches("*.wild.test", "evil-wild.test"));
  CHECK_FALSE(matches("*.wild.test", "wild.test.evil.test"));
  CHECK(matches("**.dot.test", "dot.test"));
  CHECK(matches("**.dot.test", "x.dot.test"));
  CHECK_FALSE(matches("**.dot.test", "xdot.test"));
  CHECK(matches("10.77.0.2", "10.77.0.2"));
  CHECK_FALSE(matches("10.77.0.2", "10.77.0.20"));
  CHECK_FALSE(matches("*.test", "10.77.0.2"));
}

TEST_CASE("a range has the addresses in it, and no name") {
  CHECK(matches("10.0.0.0/8", "10.0.0.0"));
  CHECK(matches("10.0.0.0/8", "10.255.255.255"));
  CHECK_FALSE(matches("10.0.0.0/8", "11.0.0.0"));
  CHECK_FALSE(matches("10.0.0.0/8", "10.test"));
  CHECK_FALSE(matches("0.0.0.0/0", "api.test"));
  CHECK_FALSE(matches("0.0.0.0/0", "2001:db8::1"));
  CHECK_FALSE(matches("::/0", "10.0.0.1"));
  CHECK(matches("192.0.2.128/25", "192.0.2.200"));
  CHECK_FALSE(matches("192.0.2.128/25", "192.0.2.127"));
  CHECK(matches("192.0.2.1/32", "192.0.2.1"));
  CHECK_FALSE(matches("192.0.2.1/32", "192.0.2.2"));
  CHECK(matches("2001:db8::/32", "2001:db8:ffff::1"));
  CHECK_FALSE(matches("2001:db8::/32", "2001:db9::"));
  CHECK(matches("2001:db8:8000::/33", "2001:db8:8000::1"));
  CHECK_FALSE(matches("2001:db8:8000::/33", "2001:db8:7fff::1"));
  CHECK(host_pattern("2001:db8::/32").str() == "2001:db8::/32");
  CHECK(host_pattern("10.0.0.0/8").str() == "10.0.0.0/8");
}

TEST_CASE("an IPv4 address in IPv6 letters is that address, to every pattern") {
  // It is the IPv4 address that would be dialled, so no spelling may slip past a deny of it.
  CHECK(matches("10.0.0.5", "::ffff:10.0.0.5"));
  CHECK(matches("10.0.0.5", "::ffff:a00:5"));
  CHECK(matches("::ffff:10.0.0.5", "10.0.0.5"));
  CHECK(matches("10.0.0.0/8", "::ffff:10.0.0.5"));
  CHECK_FALSE(matches("::/0", "::ffff:10.0.0.5"));
}

TEST_CASE("BR-079 a pattern may be written in its own letters, and is shown as an A-label") {
  CHECK(host_pattern("bücher.test").str() == "xn--bcher-kva.test");
  CHECK(host_pattern("*.BÜCHER.test").str() == "*.xn--bcher-kva.test");
  CHECK(host_pattern("**.bu\u0308cher.test.").str() == "**.xn--bcher-kva.test");
  CHECK(host_pattern("bücher.test") == host_pattern("xn--bcher-kva.test"));
  CHECK(matches("*.bücher.test", "a.xn--bcher-kva.test"));
  CHECK(matches("*.xn--bcher-kva.test", "ä.bücher.test"));
  CHECK_FALSE(matches("*.bücher.test", "bücher.test"));
  CHECK_FALSE(matches("bücher.test", "bucher.test"));
}

TEST_CASE("patterns overlap when one host could match both") {
  const std::vector<std::string> patterns{
      "x.test",     "a.x.test",    "b.a.x.test",    "*.x.test",   "**.x.test",
      "*.a.x.test", "**.a.x.test", "y.test",        "**.y.test",  "*.test",
      "xx.test",    "10.0.0.1",    "2001:db8::1",   "10.0.0.0/8", "10.0.0.0/30",
      "0.0.0.0/0",  "11.0.0.0/8",  "2001:db8::/32", "::/0"};
  std::vector<std::string> hosts{"x.test",     "a.x.test", "b.a.x.test", "c.b.a.x.test", "y.test",
                                 "z.y.test",   "xx.test",  "10.0.0.1",   "2001:db8::1",  "z.x.test",
                                 "z.a.x.test", "10.0.0.9", "11.0.0.1",   "::1"};
  for (const auto& a : patterns) {
    for (const auto& b : patterns) {
      const bool both = std::any_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
        return matches(a, host) && matches(b, host);
      });
      CAPTURE(a, b);
      CHECK(host_pattern(a).overlaps(host_pattern(b)) == both);
      CHECK(host_pattern(b).overlaps(host_pattern(a)) == both);
    }
  }
}
