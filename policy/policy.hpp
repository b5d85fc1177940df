// Rules compiled once, asked for each connection and each request. Immutable, any thread. What one
// rule means is in rule_match.hpp; rule_index.hpp finds the few that could match.
// Precedence: any matching deny wins; otherwise the first match; otherwise refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/authority.hpp"
#include "policy/request_facts.hpp"
#include "policy/rule.hpp"
#include "policy/rule_index.hpp"
#include "policy/verdict.hpp"

namespace warder {

class Policy {
 public:
  Policy() = default;  // allows nothing
  Policy(std::string name, std::vector<Rule> rules);

  const std::string& name() const { return name_; }
  const std::vector<Rule>& rules() const { return rules_; }
  // Does any rule look at header fields?
  bool reads_fields() const { return reads_fields_; }

  // Before anything is resolved or dialled: could any request on this connection be allowed? A
  // refusal says host_not_allowed or port_not_allowed. Clear text on 443 and TLS on 80 never are.
  // Scheme::tcp is what only a `tcp` or `tunnel` rule allows (the verdict's handling says which),
  // and what such a rule has is never allowed as HTTP.
  Verdict authorize_connection(const Authority& authority) const;

  // For a way in, before a byte is read: the verdict on host:port as tcp where a `tcp` or `tunnel`
  // rule lists it (a deny refuses it still). nullopt: none does, so what the client sends tells.
  std::optional<Verdict> authorize_raw(const HostName& host, std::uint16_t port) const;

  // Before any request byte leaves. TRACE and CONNECT are always refused. Dial with this verdict's
  // allow_private, not with the connection's: that one is of the first rule for the host.
  Verdict authorize(const RequestFacts& request) const;

  // Can any rule ever allow this DNS name, on any port? Denies over all paths and ports are
  // honoured.
  Verdict authorize_name(const HostName& name) const;

 private:
  Verdict connect(const RuleIndex::Found& found, const Authority& authority) const;

  std::string name_;
  std::vector<Rule> rules_;
  bool reads_fields_ = false;
  RuleIndex index_;
};

}  // namespace warder
