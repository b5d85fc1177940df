// --publish: what it may look like, and what listens then.
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/port_claim.hpp"
#include "cli/published_ports.hpp"
#include "config/config.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

std::string read(const std::string& text) {
  try {
    const PublishedPort port = parse_publish(text);
    return port.address + " " + std::to_string(port.host_port) + " " + std::to_string(port.port);
  } catch (const ConfigError&) {
    return "refused";
  }
}

}  // namespace

TEST_CASE("a published port has an address, a port here and a port inside") {
  CHECK(read("3000") == "127.0.0.1 3000 3000");
  CHECK(read("8080:3000") == "127.0.0.1 8080 3000");
  CHECK(read("0:3000") == "127.0.0.1 0 3000");
  CHECK(read(":3000") == "127.0.0.1 0 3000");
  CHECK(read("0.0.0.0:8080:3000") == "0.0.0.0 8080 3000");
  CHECK(read("127.0.0.2:8080") == "127.0.0.2 8080 8080");
  CHECK(read("[::1]:8080:3000") == "[::1] 8080 3000");
  CHECK(read("[::1]:8080") == "[::1] 8080 8080");
}

TEST_CASE("what is no published port is refused") {
  for (const char* text :
       {"",           "0",       ":0",       "0:0",         ":",        "abc",   "host:80",
        "host:80:80", "8080:",   "8080:x",   "70000",       "80:70000", "1:2:3", "1:2:3:4",
        "[::1]",      "[::1",    "[",        "[::1]8080",   "::1:8080", "-1",    "+80",
        "8080:53",    "0.0.0.0", "0.0.0.0:", "127.1:80:80", "80 ",      " 80",   "80:3000:1"}) {
    CAPTURE(text);
    CHECK(read(text) == "refused");
  }
}

TEST_CASE("a published port listens at once, is claimed, and is let go") {
  std::uint16_t port = 0;
  {
    const PublishedPorts published({"0:3000"});
    const std::string line = published.lines().at(0);
    port = static_cast<std::uint16_t>(std::stoi(line.substr(line.find("127.0.0.1:") + 10)));
    CHECK(is_claimed(port));
    CHECK(line == "http://127.0.0.1:" + std::to_string(port) + " → sandbox :3000");
    CHECK_THROWS_AS(PublishedPorts({std::to_string(port) + ":3000"}), ConfigError);
  }
  CHECK_FALSE(is_claimed(port));
}

TEST_CASE("a port that is claimed twice stays claimed until both let go") {
  constexpr std::uint16_t kPort = 1;  // nobody publishes it
  Fd first = claim_port(kPort);
  Fd second = claim_port(kPort);
  CHECK(is_claimed(kPort));
  first.reset();
  CHECK(is_claimed(kPort));
  second.reset();
  CHECK_FALSE(is_claimed(kPort));
}
