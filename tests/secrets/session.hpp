// A session for tests: secret "github" granted at api.test, secret "openai" at api.openai.test.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "secrets/placeholder.hpp"
#include "secrets/session_secrets.hpp"
#include "tests/secrets/seeded_random.hpp"

namespace warder::test {

inline Credential credential(std::string name, std::string_view value, std::string placeholder) {
  return {std::move(name), 1, std::make_shared<const SecretValue>(value), std::move(placeholder)};
}

inline Grant grant(std::string secret, std::string_view host,
                   std::vector<Place> places = default_places()) {
  return {std::move(secret),
          {std::get<HostPattern>(HostPattern::parse(host))},
          std::move(places),
          "test:1"};
}

inline Authority at(std::string_view host, Scheme scheme = Scheme::https) {
  return {scheme, HostName::parse(host).value(), default_port(scheme)};
}

struct Session {
  explicit Session(std::vector<Place> places = default_places())
      : Session("ghp_REALabcdefghijklmnopqrstuvwxyz012345", std::move(places)) {}
  explicit Session(std::string secret, std::vector<Place> places = default_places())
      : value(std::move(secret)),
        ph(make_placeholder(value, random)),
        other_ph(make_placeholder("sk-proj-REALother", random)),
        secrets(
            {credential("github", value, ph), credential("openai", "sk-proj-REALother", other_ph)},
            {grant("github", "api.test", std::move(places)), grant("openai", "api.openai.test")}) {}

  SeededRandom random{56};
  std::string value;
  std::string ph;
  std::string other_ph;
  SessionSecrets secrets;
};

}  // namespace warder::test
