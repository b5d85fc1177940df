#include "config/grants_at.hpp"

#include <algorithm>

namespace warder {
namespace {

bool names(const std::vector<HostPattern>& hosts, const HostName& host) {
  return std::any_of(hosts.begin(), hosts.end(),
                     [&](const HostPattern& pattern) { return pattern.matches(host); });
}

}  // namespace

GrantsAt grants_at(const PolicyConfig& policy, const Authority& authority, std::string_view path) {
  GrantsAt out;
  for (const Grant& grant : policy.grants) {
    if (!names(grant.hosts, authority.host)) continue;
    (grant.serves(authority.scheme) ? out.secrets : out.only_by_tls).push_back(&grant);
  }
  out.capture = find_capture(policy.captures, authority.host, path);
  if (authority.scheme != Scheme::https) return out;
  const auto shown =
      std::find_if(policy.certificates.begin(), policy.certificates.end(),
                   [&](const auto& grant) { return names(grant.hosts, authority.host); });
  if (shown != policy.certificates.end()) out.certificate = &*shown;
  for (const Capture& capture : policy.captures) {
    if (names(capture.hosts, authority.host)) out.captured.push_back(&capture);
    if (names(capture.from, authority.host)) out.returned.push_back(&capture);
  }
  return out;
}

}  // namespace warder
