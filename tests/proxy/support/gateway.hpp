// A gateway in this process for tests: workers, a log in a directory of its own, a session with one secret, origins on
// loopback behind connect_to. Enters below the transparent ingress, which needs a namespace: the arrival is given.
#pragma once

#include <dirent.h>

#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "proxy/acceptor.hpp"
#include "proxy/connection.hpp"
#include "proxy/sandbox_tls.hpp"
#include "secrets/placeholder.hpp"
#include "tests/certs/fixtures.hpp"
#include "tests/proxy/support/dns_script.hpp"
#include "tests/proxy/support/origin.hpp"
#include "tests/proxy/support/watched_log.hpp"

namespace warder::test {

inline const std::string kSecret = "ghp_REALabcdefghijklmnopqrstuvwxyz012345";

inline Rule allow(const std::string& host) {
  Rule rule;
  rule.name = "allow-" + host;
  rule.where = "test:1";
  rule.hosts = {std::get<HostPattern>(HostPattern::parse(host))};
  rule.action = Action::allow;
  return rule;
}

inline Arrival arrival(Scheme scheme, std::string_view bound) {
  Arrival made;
  made.scheme = scheme;
  made.port = default_port(scheme);
  if (!bound.empty()) made.bound = host(bound);
  return made;
}

// The secret "github", granted at api.test.
inline SessionPolicy policy_of(std::vector<Rule> rules) {
  SessionPolicy policy;
  policy.policy = Policy("default", std::move(rules));
  return policy;
}

inline std::unique_ptr<SessionSecrets> one_secret(const std::string& value,
                                                  const std::string& placeholder,
                                                  std::vector<Place> at = default_places()) {
  std::vector<Credential> held;
  held.push_back({"github", 1, std::make_shared<const SecretValue>(value), placeholder});
  Grant grant{
      "github", {std::get<HostPattern>(HostPattern::parse("api.test"))}, std::move(at), "test:2"};
  std::vector<Grant> grants;
  grants.push_back(std::move(grant));
  return std::make_unique<SessionSecrets>(std::move(held), std::move(grants));
}

inline Task<> serve_as(Worker& worker, Gateway& gateway, std::shared_ptr<Session> session,
                       tcp::socket socket, Arrival arrival) {
  Connection connection(worker, gateway, std::move(session), std::move(socket));
  connection.arrival = std::move(arrival);
  if (connection.arrival.scheme == Scheme::https && !co_await accept_tls(connection, "test"))
    co_return;
  co_await serve_requests(connection);
}

inline std::size_t open_fds() {
  std::size_t count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

// True as soon as `holds` does, false after `time`.
template <class Predicate>
bool within(milliseconds time, Predicate holds) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    pause(milliseconds(5));
  }
  return true;
}

struct TestGateway {
  // Change `limits`, `upstream` and `rules` before the first open().
  explicit TestGateway(std::size_t worker_count = 1) {
    write_roots();
    log = std::make_unique<WatchedLog>(audit::Log::open(
        {directory.path("audit.jsonl"), directory.path("audit.key"), "test"}, clock));
    for (std::size_t i = 0; i < worker_count; ++i) workers.push_back(std::make_unique<Worker>());
  }
  ~TestGateway() { stop(); }
  TestGateway(const TestGateway&) = delete;

  // Requests for `name` on `scheme`'s default port go there.
  void route(const std::string& name, Scheme scheme, const Origin& origin) {
    upstream.connect_to[name + ":" + std::to_string(default_port(scheme))] =
        "127.0.0.1:" + std::to_string(origin.port());
  }
  // For an origin that stands for `name` with a certificate that the gateway trusts.
  TlsContext trusted_tls(const std::string& name) {
    return tls_server(origin_authority.mint(host(name)).get(), origin_authority.leaf_key());
  }

  // A listener whose connections arrive as `how`.
  std::uint16_t open(Arrival how) {
    start();
    Listening made = listen_on_loopback();
    Serve serve = [this, how](Worker& worker, tcp::socket socket) {
      return serve_as(worker, *gateway, session, std::move(socket), how);
    };
    auto task = std::make_shared<Task<>>(accept_on(*workers[0], std::move(made.socket), workers,
                                                   session, *gateway, std::move(serve)));
    asio::post(workers[0]->loop(), [this, task] { workers[0]->spawn(std::move(*task)); });
    return made.port;
  }
  std::unique_ptr<Wire> plain(const std::string& bound = "api.test") {
    return Wire::connect(port_for(Scheme::http, bound));
  }
  struct Hello {
    std::string sni = "api.test";  // empty: none
    std::string alpn = "http/1.1";
    std::string bound;
    SSL_SESSION* resume = nullptr;
  };
  // The handshake has been tried: wire->tls_error() says how it went.
  std::unique_ptr<Wire> tls(Hello hello);
  std::unique_ptr<Wire> tls(const std::string& sni = "api.test") {
    Hello hello;
    hello.sni = sni;
    return tls(std::move(hello));
  }

  // Ends workers and log; checks what must hold after every test.
  void stop();

  SystemClock clock;
  TemporaryDirectory directory;
  CertificateAuthority origin_authority{clock, "test origins"};
  CertificateAuthority authority{clock};
  LeafCache leaves{authority};
  SandboxTls sandbox_tls;
  DnsScript names{zone_of({})};  // knows no name: no test asks the machine's own resolver
  Resolver resolver{{names.address()}};
  UpstreamConfig upstream;
  GatewayLimits limits;
  std::vector<Rule> rules{allow("api.test"), allow("other.test")};
  std::string secret = kSecret;  // empty: a session without secrets
  std::string placeholder;
  std::vector<Place> places = default_places();  // of its grant
  bool checks_records = true;
  std::unique_ptr<WatchedLog> log;
  std::unique_ptr<UpstreamTls> upstream_tls;
  std::unique_ptr<Gateway> gateway;
  std::shared_ptr<Session> session;
  std::vector<std::unique_ptr<Worker>> workers;

  // The policy as it was, but for what `change` does to it.
  void change_policy(const std::function<void(SessionPolicy&)>& change) {
    SessionPolicy next = *session->policy.now();
    change(next);
    session->policy.replace(std::move(next));
  }

 private:
  void write_roots() {
    upstream.ca.push_back(directory.write("origins.pem", origin_authority.pem()));
    client_roots_ = directory.write("sandbox.pem", authority.pem());
    client_tls_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_load_verify_file(client_tls_.get(), client_roots_.c_str());
    SSL_CTX_set_verify(client_tls_.get(), SSL_VERIFY_PEER, nullptr);
  }
  std::uint16_t port_for(Scheme scheme, const std::string& bound) {
    const auto key = std::make_pair(scheme, bound);
    if (!ports_.contains(key)) ports_[key] = open(arrival(scheme, bound));
    return ports_[key];
  }
  void start() {
    if (gateway) return;
    upstream_tls = std::make_unique<UpstreamTls>(upstream.ca);
    gateway = std::make_unique<Gateway>(upstream, *log, leaves, sandbox_tls, *upstream_tls,
                                        resolver, limits);
    SystemRandom random;
    std::unique_ptr<SessionSecrets> held;
    if (secret.empty()) {
      held = std::make_unique<SessionSecrets>(std::vector<Credential>(), std::vector<Grant>());
    } else {
      placeholder = make_placeholder(secret, random);
      held = one_secret(secret, placeholder, places);
    }
    session = std::make_shared<Session>("s1", policy_of(rules), std::move(held));
    for (auto& worker : workers) worker->start();
  }

  std::string client_roots_;
  TlsContext client_tls_;
  std::map<std::pair<Scheme, std::string>, std::uint16_t> ports_;
};

inline std::unique_ptr<Wire> TestGateway::tls(Hello hello) {
  auto wire = Wire::connect(port_for(Scheme::https, hello.bound));
  SSL* ssl = SSL_new(client_tls_.get());
  SSL_set_connect_state(ssl);
  if (!hello.sni.empty()) SSL_set_tlsext_host_name(ssl, hello.sni.c_str());
  SSL_set1_host(ssl, hello.sni.empty() ? hello.bound.c_str() : hello.sni.c_str());
  if (!hello.alpn.empty()) {
    const std::string protocols = static_cast<char>(hello.alpn.size()) + hello.alpn;
    SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned>(protocols.size()));
  }
  if (hello.resume != nullptr) SSL_set_session(ssl, hello.resume);
  wire->handshake(ssl);
  return wire;
}

// Each exchange has one intent; one that was let through one receipt, one that was refused none.
inline void check_pairing(const WatchedLog& log) {
  std::map<std::uint64_t, std::string> decisions;
  for (const audit::Intent& intent : log.intents()) {
    INFO("exchange " << intent.exchange << ": " << intent.method << " " << intent.path);
    CHECK(decisions.emplace(intent.exchange, intent.decision).second);
  }
  std::set<std::uint64_t> closed;
  for (const audit::Receipt& receipt : log.receipts()) {
    INFO("receipt of exchange " << receipt.exchange);
    CHECK(decisions[receipt.exchange] == "allow");
    CHECK(closed.insert(receipt.exchange).second);
  }
  for (const auto& [exchange, decision] : decisions) {
    INFO("exchange " << exchange << " was let through");
    if (decision == "allow") CHECK(closed.contains(exchange));
  }
}

inline void TestGateway::stop() {
  if (workers.empty()) return;
  for (auto& worker : workers) worker->stop(milliseconds(3000));
  if (checks_records) check_pairing(*log);
  workers.clear();
  if (session) CHECK(session->connections == 0);
  CHECK(log->close());
  std::ifstream file(log->file(), std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!secret.empty()) CHECK(text.str().find(secret) == std::string::npos);
}

}  // namespace warder::test
