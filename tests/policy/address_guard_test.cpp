// The address that is dialled: each special-purpose block at its first and last address and one beyond.
#include "policy/address_guard.hpp"

#include <arpa/inet.h>

#include <cstring>

#include "tests/support/catch.hpp"

using namespace warder;

namespace {

IpAddress ip(const std::string& text) {
  IpAddress out;
  if (text.find(':') != std::string::npos) {
    REQUIRE(::inet_pton(AF_INET6, text.c_str(), out.bytes.data()) == 1);
    return out;
  }
  std::array<std::uint8_t, 4> bytes{};
  REQUIRE(::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1);
  return IpAddress::v4(bytes);
}

void all_are(AddressClass expected, std::initializer_list<const char*> addresses) {
  for (const char* text : addresses) {
    CAPTURE(text);
    const IpAddress address = ip(text);
    CHECK(classify(address) == expected);
    CHECK(may_dial(address, PrivateAddresses::refused) == (expected == AddressClass::global));
    CHECK(may_dial(address, PrivateAddresses::allowed) == (expected != AddressClass::forbidden));
    if (!address.is_v4()) continue;
    // The same IPv4 address as a translator in the network would be told of it. Nothing but a global one.
    for (const auto& [prefix, at] : {std::pair{"64:ff9b::", 12}, std::pair{"2002::", 2}}) {
      IpAddress wrapped = ip(prefix);
      std::memcpy(wrapped.bytes.data() + at, address.bytes.data() + 12, 4);
      CHECK((classify(wrapped) == AddressClass::global) == (expected == AddressClass::global));
      CHECK(classify(wrapped) != AddressClass::private_use);
    }
  }
}

}  // namespace

TEST_CASE("IPv4 that may never be dialled") {
  all_are(AddressClass::forbidden,
          {"0.0.0.0",         "0.255.255.255",   "100.64.0.0",      "100.100.100.200",
           "100.127.255.255", "127.0.0.1",       "127.255.255.255", "168.63.129.16",
           "169.254.0.1",     "169.254.169.254", "169.254.170.2",   "169.254.255.255",
           "192.0.0.0",       "192.0.0.192",     "192.0.0.255",     "192.0.2.1",
           "192.88.99.1",     "198.18.0.1",      "198.19.255.255",  "198.51.100.7",
           "203.0.113.255",   "224.0.0.1",       "239.255.255.255", "240.0.0.1",
           "255.255.255.255"});
}

TEST_CASE("IPv4 that is private") {
  all_are(AddressClass::private_use, {"10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255",
                                      "192.168.0.0", "192.168.255.255"});
}

TEST_CASE("IPv4 that is global, right beside the blocks") {
  all_are(
      AddressClass::global,
      {"1.0.0.0",         "9.255.255.255",   "11.0.0.0",      "100.63.255.255",  "100.128.0.0",
       "126.255.255.255", "128.0.0.0",       "168.63.129.15", "168.63.129.17",   "169.253.255.255",
       "169.255.0.0",     "172.15.255.255",  "172.32.0.0",    "191.255.255.255", "192.0.1.0",
       "192.0.3.0",       "192.167.255.255", "192.169.0.0",   "198.17.255.255",  "198.20.0.0",
       "198.51.99.255",   "198.51.101.0",    "203.0.112.255", "203.0.114.0",     "223.255.255.255",
       "93.184.216.34"});
}

TEST_CASE("IPv6 that may never be dialled") {
  all_are(AddressClass::forbidden, {"::",
                                    "::1",
                                    "::2",
                                    "::7f00:1",
                                    "::5db8:d822",
                                    "::ffff:0:0:1",
                                    "64:ff9b:1::1",
                                    "64:ff9b:1:ffff::1",
                                    "64:ff9b:0:0:0:1::1",
                                    "100::1",
                                    "2001::1",
                                    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
                                    "2001:2::1",
                                    "2001:10::1",
                                    "2001:db8::1",
                                    "2001:db8:ffff::1",
                                    "3fff::1",
                                    "3fff:fff::1",
                                    "4000::1",
                                    "5f00::1",
                                    "fe80::1",
                                    "fe80::a9fe:a9fe",
                                    "febf:ffff::1",
                                    "fec0::1",
                                    "feff::1",
                                    "ff02::1",
                                    "fd00:ec2::254",
                                    "fd00:ec2::23",
                                    "fd20:ce::254",
                                    "fd00:42::42",
                                    "8000::1"});
}

TEST_CASE("IPv6 that is private or global") {
  all_are(AddressClass::private_use,
          {"fc00::1", "fd00::1", "fd77::2", "fdff:ffff::1", "fd00:ec3::254"});
  all_are(AddressClass::global, {"2000::1", "2606:4700::1111", "2001:200::1", "2001:db7::1",
                                 "2001:db9::1", "2a00:1450::1", "3ffe::1", "3fff:1000::1"});
}

TEST_CASE("an IPv4-mapped address is that IPv4 address") {
  CHECK(ip("::ffff:127.0.0.1") == ip("127.0.0.1"));
  CHECK(ip("::ffff:127.0.0.1").is_v4());
  CHECK(classify(ip("::ffff:169.254.169.254")) == AddressClass::forbidden);
  CHECK(classify(ip("::ffff:10.0.0.1")) == AddressClass::private_use);
  CHECK(classify(ip("::ffff:93.184.216.34")) == AddressClass::global);
  CHECK_FALSE(ip("::127.0.0.1").is_v4());
  CHECK(classify(IpAddress{}) == AddressClass::forbidden);
}

TEST_CASE("addresses are written as everybody does") {
  CHECK(ip("127.0.0.1").str() == "127.0.0.1");
  CHECK(ip("2001:DB8:0:0::1").str() == "2001:db8::1");
  CHECK(ip("::ffff:1.2.3.4").str() == "1.2.3.4");
}
