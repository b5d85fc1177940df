// Reverse names: all of an address, written the only way, or nothing.
#include "dns/reverse.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace warder::dns;
using V4 = std::array<std::uint8_t, 4>;
using V6 = std::array<std::uint8_t, 16>;

TEST_CASE("a reverse name is its address") {
  CHECK(reverse_address("7.0.18.198.in-addr.arpa") == ReverseAddress(V4{198, 18, 0, 7}));
  CHECK(reverse_address("1.0.0.127.IN-ADDR.Arpa") == ReverseAddress(V4{127, 0, 0, 1}));
  CHECK(reverse_address("255.255.255.255.in-addr.arpa") == ReverseAddress(V4{255, 255, 255, 255}));
  V6 loopback{};
  loopback[15] = 1;
  std::string name = "1.";
  for (int i = 0; i < 31; ++i) name += "0.";
  CHECK(reverse_address(name + "ip6.arpa") == ReverseAddress(loopback));
  CHECK(reverse_address(name + "IP6.ARPA") == ReverseAddress(loopback));
  V6 other{};
  other[0] = 0xfe;
  other[15] = 0x1b;
  CHECK(reverse_address("B.1." + name.substr(4, 56) + "e.F.ip6.arpa") == ReverseAddress(other));
}

TEST_CASE("what is no whole address, or could hide data, is no reverse name") {
  std::string nibbles;
  for (int i = 0; i < 31; ++i) nibbles += "0.";
  for (const std::string& name : {std::string("in-addr.arpa"),
                                  std::string(".in-addr.arpa"),
                                  std::string("0.18.198.in-addr.arpa"),
                                  std::string("7.7.0.18.198.in-addr.arpa"),
                                  std::string("07.0.18.198.in-addr.arpa"),
                                  std::string("256.0.18.198.in-addr.arpa"),
                                  std::string("+7.0.18.198.in-addr.arpa"),
                                  std::string("7..18.198.in-addr.arpa"),
                                  std::string("x.7.0.18.198.in-addr.arpa"),
                                  std::string("c2VjcmV0.in-addr.arpa"),
                                  std::string("7.0.18.198.in-addr.arpa.evil.test"),
                                  std::string("7.0.18.198.xin-addr.arpa"),
                                  std::string("7.0.18.198"),
                                  std::string(""),
                                  std::string("0x7.0.18.198.in-addr.arpa"),
                                  std::string("ip6.arpa"),
                                  nibbles + "ip6.arpa",
                                  nibbles + "0.0.ip6.arpa",
                                  nibbles + "g.ip6.arpa",
                                  nibbles + "00.ip6.arpa",
                                  "." + nibbles + "ip6.arpa"}) {
    CAPTURE(name);
    CHECK_FALSE(reverse_address(name));
  }
}
