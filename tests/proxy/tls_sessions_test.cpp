// How many TLS sessions are kept, and which go. That they serve their own authority alone: origin_pool_test.cpp.
#include "proxy/tls_sessions.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

TEST_CASE("sessions for one authority and in all are bounded") {
  TlsSessions sessions;
  const auto put = [&](const std::string& key) {
    sessions.put(key, SslSessionPtr(SSL_SESSION_new()));
  };
  for (int i = 0; i < 6; ++i) put("https://a.test ");
  CHECK(sessions.size() == TlsSessions::kMostEach);
  for (int i = 0; i < 100; ++i) put("https://" + std::to_string(i) + ".test ");
  CHECK(sessions.size() == TlsSessions::kMost);
}

TEST_CASE("a session that proves nobody is never taken") {
  TlsSessions sessions;
  sessions.put("https://a.test ", SslSessionPtr(SSL_SESSION_new()));
  CHECK(sessions.take("https://b.test ") == nullptr);
  CHECK(sessions.size() == 1);
  CHECK(sessions.take("https://a.test ") == nullptr);
  CHECK(sessions.size() == 0);
}
