#include "policy/host_service.hpp"

#include <algorithm>

namespace warder {
namespace {

const HostPattern& itself() {
  static const HostPattern kPattern = std::get<HostPattern>(HostPattern::parse(kHostServiceName));
  return kPattern;
}

}  // namespace

bool names_host_service(const Rule& rule) {
  return std::any_of(rule.hosts.begin(), rule.hosts.end(),
                     [](const HostPattern& host) { return is_host_service(host); });
}

bool counts_for_host_service(const Rule& rule) {
  if (rule.action != Action::deny) return !rule.ports.empty() && names_host_service(rule);
  return std::any_of(rule.hosts.begin(), rule.hosts.end(),
                     [](const HostPattern& host) { return host.overlaps(itself()); });
}

std::string host_service_fault(const Rule& rule) {
  if (rule.action == Action::deny || !rule.ports.empty() || !names_host_service(rule)) return "";
  return "rule '" + rule.name + "' names " + std::string(kHostServiceName) +
         ", the machine that the gateway runs on, and no 'ports': say which of its services is "
         "meant, such as ports: [5432]";
}

}  // namespace warder
