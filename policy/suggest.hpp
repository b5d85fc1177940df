// The smallest change that would have allowed a request: one line that a person can paste. Says
// nothing of other rules, because the sandbox reads it too.
#pragma once

#include <string>
#include <string_view>

#include "http/authority.hpp"
#include "policy/rule.hpp"

namespace warder {

// `--allow evil.test`; for raw TCP `add {hosts: [db.test], ports: [5432], action: tcp}`; empty where
// no rule can allow it (TLS on 80, clear text on 443, TCP 53).
std::string suggest_host(const Authority& authority);
// `add {hosts: [api.test], methods: [DELETE], paths: ["/admin"], action: allow}`
std::string suggest_request(const Authority& authority, std::string_view method,
                            std::string_view path);
// For what a deny rule refused.
std::string suggest_narrower(const Rule& rule);

}  // namespace warder
