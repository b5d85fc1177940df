// Random rules and requests out of few words, so that they meet. Every choice is a draw from a
// source of numbers: a generator's, or a fuzzer's bytes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "policy/policy.hpp"
#include "tests/policy/rules.hpp"

namespace warder::test {

class RandomPolicy {
 public:
  // `below(n)`: a number less than n.
  explicit RandomPolicy(std::function<std::uint32_t(std::uint32_t)> below)
      : below_(std::move(below)) {}

  std::vector<Rule> rules(std::uint32_t count) {
    std::vector<Rule> out;
    for (std::uint32_t i = 0; i < count; ++i) {
      out.push_back(rule());
      out.back().name = "r" + std::to_string(i);
      out.back().where = "w:" + std::to_string(i);
    }
    return out;
  }

  struct Request {
    Authority authority;
    std::string method;
    std::string path;
    std::string query;
    HeaderList fields;
    std::optional<std::uint64_t> body_bytes;

    RequestFacts facts() const { return {authority, method, path, query, &fields, body_bytes}; }
  };

  Request request() {
    static const std::vector<std::string> kMethods{"GET",    "GET",  "GET",   "POST",   "POST",
                                                   "DELETE", "post", "TRACE", "Connect"};
    Request out{authority(), of(kMethods), path(), "", {}, 0};
    if (one_in(3)) out.query = query();
    for (std::uint32_t n = below_(4); n > 0; --n) out.fields.add(of(kNames), value());
    if (one_in(8)) out.fields.add("Connection", of(kNames) + std::string(", close"));
    out.body_bytes = one_in(4) ? std::nullopt : std::optional<std::uint64_t>(below_(4) * 10);
    return out;
  }

 private:
  bool one_in(std::uint32_t n) { return below_(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[below_(static_cast<std::uint32_t>(list.size()))];
  }

  std::string name() {
    static const std::vector<std::string> kLabels{"a", "a", "b", "ab"};
    std::string out = one_in(6) ? "test" : "t.test";
    for (std::uint32_t n = below_(3); n > 0; --n) out = of(kLabels) + '.' + out;
    return out;
  }
  std::string address() {
    static const std::vector<std::string> kAddresses{
        "10.0.0.1",    "10.0.0.5",      "10.1.2.3",    "10.128.0.1",      "11.0.0.1",
        "2001:db8::1", "2001:db8:1::1", "2001:db9::1", "::ffff:10.0.0.5", "::1"};
    return of(kAddresses);
  }
  std::string host() {
    static const std::vector<std::string> kRanges{
        "10.0.0.0/8",    "10.0.0.0/9",    "10.0.0.0/30",   "10.0.0.5/32",     "0.0.0.0/0",
        "2001:db8::/32", "2001:db8::/33", "2001:db8::/48", "2001:db8::1/128", "::/0"};
    switch (below_(8)) {
      case 0: return "*." + name();
      case 1: return "**." + name();
      case 2: return "**.test";
      case 3: return of(kRanges);
      case 4: return address();
      default: return name();
    }
  }

  std::string path_pattern_text() {
    static const std::vector<std::string> kSegments{"a",  "a",  "b",     "ab",   "*",
                                                    "a*", "*b", "a%2Fb", "%40a", "**"};
    std::string out;
    for (std::uint32_t n = below_(4); n > 0; --n) out += '/' + of(kSegments);
    if (out.empty() || one_in(6)) out += '/';
    if (one_in(2)) out += out.ends_with('/') ? "**" : "/**";
    return out;
  }
  std::string path() {
    static const std::vector<std::string> kSegments{
        "a",     "a",   "a",     "b", "b",  "ab",  "abb",  "a%2Fb",
        "a%2fb", "%61", "%2561", "",  "@a", "a;x", "%61b", "a%252Fb"};
    std::string out;
    for (std::uint32_t n = below_(4); n > 0; --n) out += '/' + of(kSegments);
    if (out.empty() || one_in(6)) out += '/';
    return one_in(60) ? "*" : out;
  }

  std::string query() {
    static const std::vector<std::string> kKeys{
        "id",    "id",         "page", "ID",     "page", "api_key", "api.key",
        "ids[]", "ids%5B0%5D", "%69d", "%2569d", "+id",  "id%00x",  "p%26id",
        "p;id",  "ids",        "",     "=",      "x"};
    std::string out;
    for (std::uint32_t n = below_(4); n > 0; --n) {
      out += of(kKeys);
      if (!one_in(3)) out += one_in(6) ? "=1%26page%3D2" : "=1";
      out += one_in(6) ? ';' : '&';
    }
    if (!out.empty() && !one_in(5)) out.pop_back();
    return out;
  }
  std::string value() {
    static const std::vector<std::string> kValues{
        "prod", "Prod", "dev", "prod, dev", "prod,", "", "\"dev\"", "production", "x,prod", ","};
    return of(kValues);
  }

  Rule rule() {
    static const std::vector<Action> kActions{
        Action::allow, Action::allow, Action::allow, Action::allow, Action::allow, Action::ask,
        Action::deny,  Action::deny,  Action::deny,  Action::tcp,   Action::tunnel};
    static const std::vector<std::uint16_t> kPorts{80, 443, 8443, 5432};
    static const std::vector<std::string> kMethods{"GET", "POST", "DELETE", "TRACE"};
    static const std::vector<std::string> kKeys{"id", "page", "api_key", "ids[]", "ids", "x"};
    static const std::vector<std::string> kPatterns{"prod", "pro*", "*", "*d*", "prod, dev", "dev"};
    Rule out;
    out.action = of(kActions);
    for (std::uint32_t n = 1 + below_(2); n > 0; --n) out.hosts.push_back(host_pattern(host()));
    if (is_raw(out.action) || one_in(4)) {
      for (std::uint32_t n = 1 + below_(2); n > 0; --n) out.ports.push_back(of(kPorts));
    }
    out.allow_private = one_in(4) && out.action != Action::deny;
    if (is_raw(out.action)) return out;
    if (one_in(3)) out.methods.push_back(of(kMethods));
    if (!one_in(3)) {
      for (std::uint32_t n = 1 + below_(2); n > 0; --n)
        out.paths.push_back(path_pattern(path_pattern_text()));
    }
    if (one_in(4)) {
      for (std::uint32_t n = 1 + below_(3); n > 0; --n)
        out.query.push_back(std::get<QueryKey>(QueryKey::parse(of(kKeys))));
    }
    if (one_in(5)) {
      std::vector<ValuePattern> values;
      for (std::uint32_t n = 1 + below_(2); n > 0; --n)
        values.push_back(std::get<ValuePattern>(ValuePattern::parse(of(kPatterns))));
      out.headers.emplace_back(one_in(2) ? "x-mode" : "x_other", std::move(values));
    }
    if (one_in(6) && out.action != Action::deny) out.max_body = below_(3) * 10;
    return out;
  }

  Authority authority() {
    static const std::vector<std::uint16_t> kPorts{443, 443, 443, 443, 80, 80, 8443, 5432};
    const std::uint16_t port = of(kPorts);
    const Scheme usual = port == 80 ? Scheme::http : Scheme::https;
    const Scheme scheme = !one_in(10) ? usual : one_in(2) ? Scheme::tcp : Scheme::http;
    return {scheme, HostName::parse(one_in(5) ? address() : name()).value(), port};
  }

  static inline const std::vector<std::string> kNames{"X-Mode", "x-mode", "X_Mode", "X-Other",
                                                      "X_Other"};
  std::function<std::uint32_t(std::uint32_t)> below_;
};

}  // namespace warder::test
