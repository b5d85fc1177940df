#include "cli/doctor_report.hpp"

#include <algorithm>
#include <array>

namespace warder {
namespace {

constexpr Weight kNeeded = Weight::needed;
constexpr Weight kWished = Weight::wished;

constexpr std::array kMeanings{
    Meaning{"root_mounts", kNeeded, "as root: the workload runs as an ordinary user", ""},
    Meaning{"user_namespace", kNeeded, "every run: the sandbox's own user namespace", ""},
    Meaning{"network_namespace", kNeeded, "every run: a network without interfaces",
            "user_namespace"},
    Meaning{"network_setup", kNeeded, "every run: loopback, address and routes inside",
            "network_namespace"},
    Meaning{"redirect", kNeeded, "every run: connections go to the gateway (nf_tables)",
            "network_setup"},
    Meaning{"captured_connection", kNeeded, "every run: the gateway learns where they wanted to go",
            "redirect"},
    Meaning{"bubblewrap", kNeeded, "every run: makes the file view", ""},
    Meaning{"nested_user_namespace", kNeeded, "every run: no further namespaces inside",
            "network_namespace"},
    Meaning{"file_view", kNeeded, "every run: mounts, /proc and /dev of the sandbox's own",
            "nested_user_namespace"},
    Meaning{"system_call_filter", kNeeded, "every run: what leaves a sandbox is refused", ""},
    Meaning{"user_notification", kNeeded, "every run: a record of what it executes", ""},
    Meaning{"memory_file", kNeeded, "every run: files that are on no disk", ""},
    Meaning{"locked_memory", kNeeded, "secrets: never swapped out", ""},
    Meaning{"core_dumps", kNeeded, "secrets: in no core file, and no debugger looks in", ""},
    Meaning{"state_directory", kNeeded, "audit records, keys, pinned configurations", ""},
    Meaning{"runtime_directory", kNeeded, "sockets for approve and reload", ""},
    Meaning{"entropy", kNeeded, "keys and placeholders", ""},
    Meaning{"clock", kNeeded, "certificates, records", ""},
    Meaning{"run", kNeeded, "warder run -- true, all of it", ""},
    Meaning{"no_privileges", kNeeded, "inside: no capability, no new privileges, filtered", "run"},
    Meaning{"terminal_injection", kNeeded, "inside: nothing is typed into your terminal (TIOCSTI)",
            "run"},
    Meaning{"shared_memory", kNeeded, "inside: a private /dev/shm", "run"},
    Meaning{"ipv6", kWished, "IPv6 inside the sandbox", "captured_connection"},
    Meaning{"landlock", kWished, "files of the host that descriptors 0, 1 and 2 name stay closed",
            ""},
    Meaning{"cgroups", kWished, "bounds of a sandbox's memory and processes by control group", ""},
    Meaning{"pidfd_exit_info", kWished, "how processes of a sandbox ended, in that record", ""},
    Meaning{"overlay", kWished, "a workspace whose changes stay apart", "user_namespace"},
    Meaning{"idmapped_mount", kWished, "as root: this directory as a workspace, whoever owns it",
            "user_namespace"},
};

const Check* found(const std::vector<Check>& checks, std::string_view name) {
  const auto at = std::find_if(checks.begin(), checks.end(),
                               [&](const Check& one) { return one.meaning->name == name; });
  return at == checks.end() ? nullptr : &*at;
}

bool is_well(const Check& check) { return check.attempt.outcome == Outcome::ok; }

// The first of those before it that failed.
std::string origin_of(const std::vector<Check>& checks, const Check& check) {
  if (check.meaning->name == "run") {
    for (const Check& each : checks) {
      if (each.meaning->weight == kNeeded && !is_well(each)) return each.attempt.name;
    }
    return {};
  }
  const Check* before = found(checks, check.meaning->after);
  if (before == nullptr || is_well(*before)) return {};
  return before->follows_from.empty() ? before->attempt.name : before->follows_from;
}

}  // namespace

std::span<const Meaning> meanings() { return kMeanings; }

bool DoctorReport::works() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check& one) {
    return one.meaning->weight == kWished || is_well(one);
  });
}

DoctorReport make_report(std::vector<Attempt> attempts, const std::string& executable) {
  DoctorReport report;
  report.executable = executable;
  for (const Meaning& meaning : kMeanings) {
    const auto at = std::find_if(attempts.begin(), attempts.end(),
                                 [&](const Attempt& one) { return one.name == meaning.name; });
    if (at == attempts.end()) continue;
    Check check{&meaning, std::move(*at), {}, {}};
    if (!is_well(check)) {
      check.follows_from = origin_of(report.checks, check);
      if (check.follows_from.empty()) check.fix = fix_for(check.attempt.cause, executable);
    }
    report.checks.push_back(std::move(check));
  }
  return report;
}

}  // namespace warder
