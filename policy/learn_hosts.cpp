#include "policy/learn_hosts.hpp"

#include <libpsl.h>

#include <algorithm>
#include <array>
#include <map>

namespace warder {
namespace {

constexpr std::size_t kHostsOfOneWildcard = 4;

// Registrable domains of one owner who gives names below them to anybody. The list has most such
// places as suffixes, but a wildcard above them would take them in.
constexpr std::array<std::string_view, 14> kShared{
    "amazonaws.com",         "amazonaws.com.cn", "aliyuncs.com",    "azure.com",
    "backblazeb2.com",       "cloudflare.com",   "fastly.net",      "github.com",
    "googleapis.com",        "ibm.com",          "oraclecloud.com", "scaleway.com",
    "cloudflarestorage.com", "windows.net"};

bool is_shared(std::string_view domain) {
  return std::find(kShared.begin(), kShared.end(), domain) != kShared.end();
}

// Of "a.b.x.com" with the registrable domain x.com: "b.x.com" and "x.com".
std::vector<std::string> domains_above(const HostName& host, const std::string& top) {
  std::vector<std::string> out;
  std::string_view name = host.str();
  while (name.size() > top.size()) {
    name.remove_prefix(name.find('.') + 1);
    out.emplace_back(name);
  }
  return out;
}

// The longer of two is tried first: it is the narrower wildcard.
struct NarrowFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    const auto labels = [](const std::string& name) {
      return std::count(name.begin(), name.end(), '.');
    };
    const auto of_a = labels(a);
    const auto of_b = labels(b);
    return of_a != of_b ? of_a > of_b : a < b;
  }
};

}  // namespace

std::optional<std::string> owners_domain(const HostName& host) {
  const psl_ctx_t* list = psl_builtin();
  if (list == nullptr || host.is_address()) return std::nullopt;
  const char* name = host.str().c_str();
  const char* suffix = psl_unregistrable_domain(list, name);
  // Without the rule "*", by which every last label that nobody knows would be a suffix.
  const bool is_known =
      suffix != nullptr &&
      psl_is_public_suffix2(list, suffix, PSL_TYPE_ICANN | PSL_TYPE_NO_STAR_RULE) == 1;
  const char* domain = psl_registrable_domain(list, name);
  if (!is_known || domain == nullptr || is_shared(domain)) return std::nullopt;
  return std::string(domain);
}

std::vector<HostGroup> group_hosts(std::vector<HostName> hosts) {
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  std::map<std::string, std::vector<std::size_t>, NarrowFirst> below;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto top = owners_domain(hosts[i]);
    if (!top) continue;
    for (std::string& domain : domains_above(hosts[i], *top)) below[std::move(domain)].push_back(i);
  }
  std::vector<HostGroup> groups;
  std::vector<bool> is_taken(hosts.size(), false);
  for (const auto& [domain, members] : below) {
    HostGroup group;
    for (const std::size_t i : members) {
      if (!is_taken[i]) group.hosts.push_back(hosts[i]);
    }
    auto pattern = HostPattern::parse("*." + domain);
    auto* wildcard = std::get_if<HostPattern>(&pattern);
    if (group.hosts.size() < kHostsOfOneWildcard || wildcard == nullptr) continue;
    for (const std::size_t i : members) is_taken[i] = true;
    group.wildcard = std::move(*wildcard);
    groups.push_back(std::move(group));
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (!is_taken[i]) groups.push_back({std::nullopt, {hosts[i]}});
  }
  std::sort(groups.begin(), groups.end(), [](const HostGroup& a, const HostGroup& b) {
    return a.hosts.front() < b.hosts.front();
  });
  return groups;
}

}  // namespace warder
