// Does a rule that has the host match? The meaning of one rule, and nothing of how rules are found
// (rule_index.hpp). Whether it has the host is HostPattern's to say.
#pragma once

#include <optional>

#include "base/reason.hpp"
#include "policy/path_forms.hpp"
#include "policy/query_keys.hpp"
#include "policy/request_facts.hpp"
#include "policy/rule.hpp"

namespace warder {

// A request, and what deny rules look at besides what was sent: made once, and only if one asks.
class AskedRequest {
 public:
  explicit AskedRequest(const RequestFacts& facts) : facts_(facts) {}
  AskedRequest(const AskedRequest&) = delete;
  AskedRequest& operator=(const AskedRequest&) = delete;

  const RequestFacts* operator->() const { return &facts_; }
  const PathForms& path_forms();
  const AllKeys& all_keys();

 private:
  const RequestFacts& facts_;
  std::optional<PathForms> path_forms_;
  std::optional<AllKeys> all_keys_;
};

bool lists_port(const Rule& rule, std::uint16_t port);

// 80 is clear text and 443 is TLS wherever they are listed; any other listed port is sniffed, so it
// is either. Raw TCP is never what an allow rule means.
bool allows_port(const Rule& rule, const Authority& authority);
// TRACE and CONNECT, in any letters.
bool is_never_allowed(std::string_view method);
bool allows_method(const Rule& rule, std::string_view method);

// How much of a request an allow or ask rule that has its host, port and scheme takes.
struct Fit {
  bool method = false;
  bool path = false;
  bool query = false;    // looked at where method and path fit
  bool headers = false;  // and then the query
  bool body = false;     // and then the headers
  bool all() const { return method && path && query && headers && body; }
};
Fit fit_of(const Rule& rule, const RequestFacts& request);

// Is it a deny of everything on its hosts and ports, so that it closes connections too?
bool is_blanket_deny(const Rule& rule);
bool denies_port(const Rule& rule, std::uint16_t port);
bool denies(const Rule& rule, AskedRequest& request);

// What the refusal of a deny rule says.
Reason what_it_names(const Rule& rule);

}  // namespace warder
