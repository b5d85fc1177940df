#include "policy/public_suffix.hpp"

#include "policy/shared_hosts.hpp"
#include "tests/policy/rules.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {
HostName host(const std::string& text) { return HostName::parse(text).value(); }
}  // namespace

TEST_CASE("below which names anybody can register") {
  for (const char* name : {"com", "co.uk", "github.io", "cloudfront.net", "xn--p1ai"}) {
    CAPTURE(name);
    CHECK(is_public_suffix(host(name)));
    CHECK(registrable_domain(host(name)) == "");
  }
  for (const char* name : {"example.com", "uk.co.example.com", "api.github.com", "internal", "test",
                           "localhost", "10.0.0.1", "2001:db8::1"}) {
    CAPTURE(name);
    CHECK_FALSE(is_public_suffix(host(name)));
  }
}

TEST_CASE("who owns a name") {
  CHECK(registrable_domain(host("a.b.example.co.uk")) == "example.co.uk");
  CHECK(registrable_domain(host("example.com")) == "example.com");
  CHECK(registrable_domain(host("me.github.io")) == "me.github.io");
  CHECK(registrable_domain(host("x.db.internal")) == "db.internal");
  CHECK(registrable_domain(host("10.0.0.1")) == "");
}

TEST_CASE("hosts that everybody can rent, and those beside them") {
  for (const char* pattern :
       {"d111.cloudfront.net", "*.cloudfront.net", "**.net", "raw.githubusercontent.com",
        "*.githubusercontent.com", "me.github.io", "b.s3.amazonaws.com", "s3.amazonaws.com",
        "s3-us-west-2.amazonaws.com", "b.s3.eu-west-1.amazonaws.com", "**.amazonaws.com",
        "*.eu-west-1.amazonaws.com", "storage.googleapis.com", "**.s3.eu-west-1.amazonaws.com"}) {
    CAPTURE(pattern);
    CHECK(shared_hosting(host_pattern(pattern)) != "");
  }
  for (const char* pattern :
       {"api.github.com", "cloudfront.net.test", "github.io.test",
        "bedrock.us-east-1.amazonaws.com", "*.bedrock.us-east-1.amazonaws.com", "sts.amazonaws.com",
        "s3.notamazonaws.com", "oauth2.googleapis.com", "10.0.0.0/8", "10.0.0.1"}) {
    CAPTURE(pattern);
    CHECK(shared_hosting(host_pattern(pattern)) == "");
  }
}
