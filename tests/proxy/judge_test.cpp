// One authority: what a request claims, what its connection stands for, and what the policy says of the one that is left.
#include "proxy/judge.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

namespace {

HostName name(std::string_view text) { return HostName::parse(text).value(); }

Policy allowing(const std::string& host_pattern, std::vector<std::uint16_t> ports = {}) {
  Rule rule;
  rule.name = "r";
  rule.hosts = {std::get<HostPattern>(HostPattern::parse(host_pattern))};
  rule.ports = std::move(ports);
  rule.action = Action::allow;
  return Policy("p", {rule});
}

RequestHead request(std::string method, std::string target,
                    std::vector<std::string> hosts = {"api.test"}) {
  RequestHead head;
  head.method = std::move(method);
  head.target = std::move(target);
  for (std::string& host : hosts) head.fields.add("Host", std::move(host));
  return head;
}

Arrival tls_to(std::string_view bound) {
  Arrival arrival;
  arrival.bound = name(bound);
  return arrival;
}

Arrival clear_to(std::string_view bound) {
  Arrival arrival = tls_to(bound);
  arrival.scheme = Scheme::http;
  arrival.port = 80;
  return arrival;
}

Arrival dialled(std::string_view literal, Scheme scheme) {
  Arrival arrival;
  arrival.scheme = scheme;
  arrival.port = default_port(scheme);
  arrival.literal = name(literal);
  return arrival;
}

Reason reason_of(const RequestHead& head, const Arrival& arrival,
                 const Policy& policy = allowing("**.test")) {
  const Judgement judged = judge(head, Framing(), arrival, policy);
  return judged.verdict.allows() ? Reason::none : judged.verdict.reason;
}

}  // namespace

TEST_CASE("a request that names what its connection stands for is the policy's to decide") {
  const Judgement judged =
      judge(request("GET", "/v1?q=1"), Framing(), tls_to("api.test"), allowing("api.test"));
  CHECK(judged.verdict.allows());
  CHECK(judged.authority == Authority{Scheme::https, name("api.test"), 443});
  CHECK(judged.target.path == "/v1");
  CHECK(judged.target.query == "q=1");
  CHECK(reason_of(request("GET", "/"), tls_to("api.test"), allowing("other.test")) ==
        Reason::host_not_allowed);
  CHECK(reason_of(request("GET", "/"), tls_to("api.test"), Policy()) == Reason::host_not_allowed);
}

TEST_CASE("a host is compared as a name, not as text") {
  for (const char* same : {"API.test", "api.test.", "api.test:443", "Api.Test.:443"}) {
    INFO(same);
    CHECK(reason_of(request("GET", "/", {same}), tls_to("api.test")) == Reason::none);
  }
}

TEST_CASE("BR-079 one verdict for a host, by whatever spelling and route it is named") {
  const char* const spellings[] = {"xn--bcher-kva.test", "XN--BCHER-KVA.Test.", "bücher.test",
                                   "BÜCHER.TEST.",       "bu\u0308cher.test",   "bücher。ｔｅｓｔ"};
  Arrival forwards;
  forwards.forwards = true;
  for (const auto& [pattern, reason] : {std::pair("bücher.test", Reason::none),
                                        std::pair("*.bücher.test", Reason::host_not_allowed)}) {
    const Policy policy = allowing(pattern);
    for (const std::string spelling : spellings) {
      CAPTURE(pattern, spelling);
      // Host below SNI or CONNECT, both in that spelling, and the URL of an absolute form.
      const Judgement by_host =
          judge(request("GET", "/", {spelling}), Framing(), tls_to("bücher.test"), policy);
      CHECK(by_host.verdict.reason == reason);
      CHECK(by_host.authority == Authority{Scheme::https, name("xn--bcher-kva.test"), 443});
      CHECK(reason_of(request("GET", "/", {spelling + ":443"}), tls_to(spelling), policy) ==
            reason);
      CHECK(reason_of(request("GET", "http://" + spelling + "/", {"bücher.test:80"}), forwards,
                      policy) == reason);
      CHECK(reason_of(request("GET", "/", {"bucher.test"}), tls_to(spelling), policy) ==
            Reason::authority_mismatch);
    }
  }
  for (const char* odd : {"１２７.0.0.1", "bücher..test", "☃.test", "ü@api.test", "api／x.test"}) {
    CAPTURE(odd);
    CHECK(reason_of(request("GET", "/", {odd}), tls_to("api.test")) == Reason::malformed_request);
  }
}

TEST_CASE("BR-083 another host than the connection's is misdirected, whatever the policy allows") {
  for (const char* other :
       {"evil.test", "api.test:8443", "api.test:80", "sub.api.test", "127.0.0.1", "[::1]"}) {
    INFO(other);
    CHECK(reason_of(request("GET", "/", {other}), tls_to("api.test")) ==
          Reason::authority_mismatch);
  }
}

TEST_CASE("a Host that is no host is malformed") {
  for (const char* odd : {"", " ", "api.test,evil.test", "user@api.test", "api.test/",
                          "api.test:", "api.test:0", "api.test:99999", "0x7f.1", "127.1", "a b"}) {
    INFO('"' << odd << '"');
    CHECK(reason_of(request("GET", "/", {odd}), tls_to("api.test")) == Reason::malformed_request);
  }
}

TEST_CASE("no Host, or two, is malformed: even two that agree") {
  CHECK(reason_of(request("GET", "/", {}), tls_to("api.test")) == Reason::malformed_request);
  CHECK(reason_of(request("GET", "/", {"api.test", "evil.test"}), tls_to("api.test")) ==
        Reason::malformed_request);
  CHECK(reason_of(request("GET", "/", {"api.test", "api.test"}), tls_to("api.test")) ==
        Reason::malformed_request);
}

TEST_CASE("HTTP/1.0 without Host means the connection's name, and nothing when there is none") {
  RequestHead old = request("GET", "/", {});
  old.minor = 0;
  CHECK(judge(old, Framing(), tls_to("api.test"), allowing("api.test")).authority->host ==
        name("api.test"));
  CHECK(reason_of(old, tls_to("api.test")) == Reason::none);
  Arrival nameless;
  nameless.scheme = Scheme::http;
  nameless.port = 80;
  const Judgement judged = judge(old, Framing(), nameless, allowing("**.test"));
  CHECK_FALSE(judged.verdict.allows());
  CHECK_FALSE(judged.authority.has_value());
}

TEST_CASE("BR-145 the absolute form and the Host field must name the same") {
  CHECK(reason_of(request("GET", "http://api.test/x"), clear_to("api.test")) == Reason::none);
  CHECK(reason_of(request("GET", "http://evil.test/x"), clear_to("api.test")) ==
        Reason::malformed_request);
  CHECK(reason_of(request("GET", "http://api.test/x", {"evil.test"}), clear_to("api.test")) ==
        Reason::malformed_request);
  CHECK(reason_of(request("GET", "http://evil.test/x", {"evil.test"}), clear_to("api.test")) ==
        Reason::malformed_request);
  // A scheme that the connection does not have must not choose one.
  CHECK(reason_of(request("GET", "https://api.test/x"), clear_to("api.test")) ==
        Reason::malformed_request);
  CHECK(reason_of(request("GET", "http://api.test/x"), tls_to("api.test")) ==
        Reason::malformed_request);
  CHECK(reason_of(request("GET", "http://api.test:8080/x", {"api.test:8080"}),
                  clear_to("api.test")) == Reason::malformed_request);
}

TEST_CASE(
    "in clear text to an address the Host field names the authority, which is what is resolved") {
  const Judgement judged = judge(request("GET", "/"), Framing(), dialled("192.0.2.7", Scheme::http),
                                 allowing("api.test"));
  CHECK(judged.verdict.allows());
  CHECK(judged.authority == Authority{Scheme::http, name("api.test"), 80});
  CHECK(reason_of(request("GET", "/", {"evil.example"}), dialled("192.0.2.7", Scheme::http)) ==
        Reason::host_not_allowed);
}

TEST_CASE("BR-085 under TLS without a name the connection stands for its address alone") {
  const Arrival arrival = dialled("192.0.2.7", Scheme::https);
  CHECK(reason_of(request("GET", "/"), arrival) == Reason::authority_mismatch);
  CHECK(reason_of(request("GET", "/", {"192.0.2.7"}), arrival) == Reason::host_not_allowed);
  CHECK(reason_of(request("GET", "/", {"192.0.2.7"}), arrival, allowing("192.0.2.7")) ==
        Reason::none);
}

TEST_CASE("a port that is not the scheme's own must be named") {
  Arrival arrival = clear_to("api.test");
  arrival.port = 8080;
  const Policy policy = allowing("api.test", {8080});
  CHECK(reason_of(request("GET", "/", {"api.test:8080"}), arrival, policy) == Reason::none);
  CHECK(reason_of(request("GET", "/", {"api.test"}), arrival, policy) ==
        Reason::authority_mismatch);
}

TEST_CASE("what was decided for the connection holds for all its requests") {
  Arrival arrival = tls_to("api.test");
  Verdict verdict;
  verdict.reason = Reason::port_not_allowed;
  verdict.rule = "the rule";
  arrival.refused = verdict;
  const Judgement judged = judge(request("GET", "/"), Framing(), arrival, allowing("**.test"));
  CHECK(judged.verdict == verdict);
  CHECK(judged.authority->host == name("api.test"));
}

TEST_CASE("targets that servers read in two ways are refused before any rule") {
  for (const char* target : {"/a/../b", "/a/%2e%2e/b", "/a/%2E./b", "/a%2f..%2fb", "/a/..;x/b",
                             "/a\\b", "/a%5cb", "/a%00b", "/a%zz", "/a%2", "/a#b", "a/b", "", "*",
                             "api.test:443", "ftp://api.test/", "https://u@api.test/", "//"}) {
    INFO(target);
    const Reason reason = reason_of(request("GET", target), tls_to("api.test"));
    if (std::string_view(target) == "//")
      CHECK(reason == Reason::none);  // an empty segment is a path like any
    else
      CHECK(reason == Reason::malformed_request);
  }
}

TEST_CASE("CONNECT and TRACE are never let through, and OPTIONS * is") {
  CHECK(reason_of(request("CONNECT", "api.test:443", {"api.test:443"}), tls_to("api.test")) ==
        Reason::method_not_allowed);
  CHECK(reason_of(request("CONNECT", "evil.test:443", {"evil.test:443"}), tls_to("api.test")) ==
        Reason::authority_mismatch);
  CHECK(reason_of(request("TRACE", "/"), tls_to("api.test")) == Reason::method_not_allowed);
  CHECK(reason_of(request("OPTIONS", "*"), tls_to("api.test")) == Reason::none);
}

TEST_CASE("the recorded path shows no placeholder and no query value") {
  std::vector<Credential> held;
  held.push_back(
      {"gh", 1, std::make_shared<const SecretValue>("ghp_REALREALREAL"), "ghp_PLACEHOLDERx"});
  const SessionSecrets secrets(std::move(held), {});
  const auto shown = [&](const std::string& target) {
    return audited_path(*parse_target("GET", target), secrets);
  };
  CHECK(shown("/a") == "/a");
  CHECK(shown("/a?") == "/a?");
  CHECK(shown("/a?k=v&flag&x=y;z=1") == "/a?k=…&flag&x=…;z=…");
  CHECK(shown("/a?k=v=w") == "/a?k=…");
  CHECK(shown("/u/ghp_PLACEHOLDERx/ghp_PLACEHOLDERx") == "/u/[secret:gh]/[secret:gh]");
  CHECK(shown("/a?ghp_PLACEHOLDERx=1") == "/a?[secret:gh]=…");
  CHECK(shown("/ghp_PLACEHOLDER") == "/ghp_PLACEHOLDER");
  CHECK(shown("/bot%67hp_PLACEHOLDERx/m?key=ghp_PLACEHOLDE%52x&x=y") ==
        "/bot[secret:gh]/m?key=[secret:gh]&x=…");
  CHECK(shown("/a?k=vghp_PLACEHOLDERxw&x") == "/a?k=…[secret:gh]&x");
}
