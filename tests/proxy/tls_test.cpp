// TLS on both sides: whom we stand for, and whom we believe.
#include <openssl/ec.h>

#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

const std::string kGet = "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n";

// Signed by itself, for `name`.
TlsContext self_signed(const std::string& name) {
  const PkeyPtr key(EVP_EC_gen("P-256"));
  const X509Ptr made(X509_new());
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
  X509_set_pubkey(made.get(), key.get());
  const std::string alternative = "DNS:" + name;
  X509_EXTENSION* extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, alternative.c_str());
  X509_add_ext(made.get(), extension, -1);
  X509_EXTENSION_free(extension);
  X509_sign(made.get(), key.get(), EVP_sha256());
  return tls_server(made.get(), key.get());
}

// A leaf of a trusted authority that ran out five days ago.
TlsContext expired(TestGateway& warder, const std::string& name) {
  static FakeClock clock;
  clock.time = std::chrono::system_clock::now() - std::chrono::hours(24 * 12);
  const CertificateAuthority old(clock, "old but trusted");
  warder.upstream.ca.push_back(warder.directory.write("old.pem", old.pem()));
  return tls_server(old.mint(host(name)).get(), old.leaf_key());
}

std::string subject_names(SSL* ssl) {
  const X509Ptr leaf(SSL_get1_peer_certificate(ssl));
  std::string names;
  auto* list = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(leaf.get(), NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(list); ++i) {
    const ASN1_STRING* text = sk_GENERAL_NAME_value(list, i)->d.dNSName;
    names += std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                         ASN1_STRING_length(text)) +
             " ";
  }
  GENERAL_NAMES_free(list);
  return names;
}

}  // namespace

TEST_CASE("BR-094 an origin that cannot prove its name gets not one byte") {
  struct Case {
    std::string what;
    std::function<TlsContext(TestGateway&)> make;
    std::string says;
  };
  const SystemClock clock;
  const std::vector<Case> cases = {
      {"expired", [](TestGateway& w) { return expired(w, "api.test"); }, "expired"},
      {"another name", [](TestGateway& w) { return w.trusted_tls("other.test"); },
       "hostname mismatch"},
      {"a parent's name", [](TestGateway& w) { return w.trusted_tls("test.api.test"); },
       "hostname mismatch"},
      {"self-signed", [](TestGateway&) { return self_signed("api.test"); }, "self-signed"},
      {"unknown authority",
       [&](TestGateway&) {
         const CertificateAuthority unknown(clock, "unknown");
         return tls_server(unknown.mint(host("api.test")).get(), unknown.leaf_key());
       },
       "issuer"}};
  for (const Case& c : cases) {
    INFO(c.what);
    TestGateway warder;
    Origin origin(answers(ok("x")), c.make(warder));
    warder.route("api.test", Scheme::https, origin);
    auto client = warder.tls();
    client->send("GET / HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer " + warder.placeholder +
                 "\r\n\r\n");
    const Message answer = client->read_message();
    CHECK(answer.status() == 502);
    CHECK(answer.has("Warder-Reason: upstream_tls_failed"));
    INFO(answer.body);
    CHECK(answer.body.find(c.says) != std::string::npos);
    client->close();
    warder.stop();
    CHECK(origin.received_in_all().empty());
    CHECK(warder.log->receipts().at(0).reason == Reason::upstream_tls_failed);
  }
}

TEST_CASE("an origin that is not TLS, or hangs in its handshake, is told apart") {
  TestGateway warder;
  warder.upstream.connect_timeout = milliseconds(500);
  Origin clear([](Wire& wire, std::size_t) {
    wire.read_more();
    wire.send("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  Origin silent([](Wire& wire, std::size_t) { wire.read_to_end(); });
  warder.route("api.test", Scheme::https, clear);
  warder.route("other.test", Scheme::https, silent);
  auto client = warder.tls();
  client->send(kGet);
  CHECK(client->read_message().has("Warder-Reason: upstream_tls_failed"));
  auto other = warder.tls("other.test");
  other->send("GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
  CHECK(other->read_message().has("Warder-Reason: upstream_timeout"));
}

TEST_CASE("the client sees a leaf for the name it asked for, and HTTP/1.1") {
  TestGateway warder;
  auto client = warder.tls("other.test");
  REQUIRE(client->tls_error().empty());
  CHECK(subject_names(client->ssl()) == "other.test ");
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(client->ssl(), &protocol, &size);
  CHECK(std::string(reinterpret_cast<const char*>(protocol), size) == "http/1.1");
}

TEST_CASE("a refused name with SNI is shaken hands with, so that the refusal can be read") {
  TestGateway warder;
  auto client = warder.tls("evil.test");
  REQUIRE(client->tls_error().empty());
  client->send("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n");
  const Message answer = client->read_message();
  CHECK(answer.status() == 403);
  CHECK(answer.has("Warder-Reason: host_not_allowed"));
  CHECK(answer.body.find("--allow evil.test") != std::string::npos);
  // And nothing that is allowed can be reached over it.
  client->send(kGet);
  CHECK(client->read_message().status() == 403);
}

TEST_CASE("BR-085 without SNI the bound name is whom we stand for; without one, an alert") {
  TestGateway warder;
  Origin origin(answers(ok("x")), warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  TestGateway::Hello hello;
  hello.sni = "";
  hello.bound = "api.test";
  auto client = warder.tls(hello);
  REQUIRE(client->tls_error().empty());
  CHECK(subject_names(client->ssl()) == "api.test ");
  client->send(kGet);
  CHECK(client->read_message().body == "x");

  Arrival dialled = arrival(Scheme::https, "");
  dialled.literal = host("192.0.2.7");
  auto nameless = Wire::connect(warder.open(dialled));
  const TlsContext context(SSL_CTX_new(TLS_client_method()));
  SSL* ssl = SSL_new(context.get());
  SSL_set_connect_state(ssl);
  CHECK_FALSE(nameless->handshake(ssl));
  CHECK(nameless->tls_error().find("access denied") != std::string::npos);
  warder.stop();
  CHECK(warder.log->intents().back().reason == Reason::host_not_allowed);
  CHECK(warder.log->intents().back().decision == "deny");
}

TEST_CASE("a name that the synthetic address does not stand for is misdirected, readably") {
  TestGateway warder;
  TestGateway::Hello hello;
  hello.sni = "other.test";
  hello.bound = "api.test";
  auto client = warder.tls(hello);
  REQUIRE(client->tls_error().empty());
  client->send("GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
  CHECK(client->read_message().status() == 421);
}

TEST_CASE("BR-083 a Host that is not the TLS name is misdirected on every request") {
  TestGateway warder;
  Origin origin(answers(ok("x")), warder.trusted_tls("api.test"));
  Origin other(answers(ok("x")), warder.trusted_tls("other.test"));
  warder.route("api.test", Scheme::https, origin);
  warder.route("other.test", Scheme::https, other);
  auto client = warder.tls("other.test");
  for (int i = 0; i < 2; ++i) {
    client->send("GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
    CHECK(client->read_message().status() == 200);
    client->send("GET / HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer " + warder.placeholder +
                 "\r\n\r\n");
    CHECK(client->read_message().status() == 421);
    client->send("GET https://api.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n");
    CHECK(client->read_message().status() == 400);
  }
  CHECK(origin.connections() == 0);
  CHECK(other.connections() == 1);  // refusals in between cost no connection
}

TEST_CASE("ALPN: h2 is spoken, an unknown protocol alone gets an alert, silence is HTTP/1.1") {
  TestGateway warder;
  TestGateway::Hello hello;
  hello.alpn = "h3";
  CHECK(warder.tls(hello)->tls_error().find("no application protocol") != std::string::npos);
  hello.alpn = "h2";
  auto modern = warder.tls(hello);
  REQUIRE(modern->tls_error().empty());
  CHECK(negotiated_version(modern->ssl()) == HttpVersion::http2);
  hello.alpn = "";
  auto client = warder.tls(hello);
  REQUIRE(client->tls_error().empty());
  client->send("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n");
  CHECK(client->read_message().status() == 421);
}

TEST_CASE("a server name that is no name gets an alert") {
  TestGateway warder;
  for (const char* odd : {"127.1", "a_b..test", "-x.test", "api.test\\", "*.test"}) {
    INFO(odd);
    TestGateway::Hello hello;
    hello.sni = odd;
    hello.bound = "api.test";
    CHECK_FALSE(warder.tls(hello)->tls_error().empty());
  }
}

TEST_CASE("sessions are resumed") {
  TestGateway warder;
  Origin origin(answers(ok("x")), warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  auto first = warder.tls();
  first->send(kGet);
  CHECK(first->read_message().body == "x");  // and the ticket
  const std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> ticket(
      SSL_get1_session(first->ssl()), &SSL_SESSION_free);
  REQUIRE(SSL_SESSION_is_resumable(ticket.get()) == 1);
  TestGateway::Hello hello;
  hello.resume = ticket.get();
  auto second = warder.tls(hello);
  CHECK(SSL_session_reused(second->ssl()) == 1);
  second->send(kGet);
  CHECK(second->read_message().body == "x");

  // A ticket for one name opens no other.
  hello.sni = "evil.test";
  auto third = warder.tls(hello);
  third->send("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n");
  if (third->tls_error().empty()) CHECK(third->read_message().status() == 403);
}

TEST_CASE("bytes that are not TLS end the connection and are recorded") {
  TestGateway warder;
  auto client = Wire::connect(warder.open(arrival(Scheme::https, "api.test")));
  client->send(kGet);
  client->read_to_end();
  warder.stop();
  REQUIRE(warder.log->intents().size() == 1);
  CHECK(warder.log->intents()[0].protocol == "tls");
  CHECK(warder.log->intents()[0].decision == "deny");
}
