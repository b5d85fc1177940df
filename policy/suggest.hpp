// The smallest change that would have allowed a request: one line that a person can paste. Says
// nothing of other rules, because the sandbox reads it too.
#pragma once

#include <string>
#include <string_view>

#include "base/reason.hpp"
#include "http/authority.hpp"
#include "policy/request_facts.hpp"
#include "policy/rule.hpp"

namespace warder {

// `--allow evil.test`; for raw TCP `add {hosts: [db.test], ports: [5432], action: tcp}`; empty where
// no rule can allow it (TLS on 80, clear text on 443, TCP 53).
std::string suggest_host(const Authority& authority);
// `add {hosts: [api.test], methods: [DELETE], paths: ["/admin"], action: allow}`. Where the query or
// the length of the body is what was `lacking`, its keys or its length, too.
std::string suggest_request(const RequestFacts& request, Reason lacking);
// For what a deny rule refused.
std::string suggest_narrower(const Rule& rule);

}  // namespace warder
