// What browsers are told to trust, and that a host's own policies stay.
#include "sandbox-launcher/browser_policies.hpp"

#include "tests/support/catch.hpp"

namespace warder::test {

TEST_CASE("Chromium's policy has each certificate in base64 without line breaks") {
  const std::string one = "-----BEGIN CERTIFICATE-----\nAAAA\nBB==\n-----END CERTIFICATE-----\n";
  const std::string two = "-----BEGIN CERTIFICATE-----\nCCCC\n-----END CERTIFICATE-----\n";
  CHECK(chromium_policy(one + two) == "{\"CACertificates\":[\"AAAABB==\",\"CCCC\"]}\n");
  CHECK(chromium_policy("") == "{\"CACertificates\":[]}\n");
  CHECK(chromium_policy("-----BEGIN CERTIFICATE-----\nAAAA\n") == "{\"CACertificates\":[]}\n");
}

TEST_CASE("Firefox's policies are the host's with one certificate more") {
  const std::string plain = "{\"policies\":{\"Certificates\":{\"Install\":[\"/ca.pem\"]}}}\n";
  CHECK(firefox_policies("", "/ca.pem") == plain);
  for (const char* odd :
       {"not json", "[]", "{\"policies\":7}", "{\"policies\":{\"Certificates\":[]}}",
        "{\"policies\":{\"Certificates\":{\"Install\":\"x\"}}}"}) {
    CAPTURE(odd);
    CHECK(firefox_policies(odd, "/ca.pem") == plain);
  }
  CHECK(firefox_policies("{\"policies\":{\"DisableTelemetry\":true,\"Certificates\":{\"Install\":["
                         "\"corp.der\"]}}}",
                         "/ca.pem") ==
        "{\"policies\":{\"DisableTelemetry\":true,\"Certificates\":{\"Install\":[\"corp.der\",\"/"
        "ca.pem\"]}}}\n");
}

}  // namespace warder::test
