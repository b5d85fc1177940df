#include "cli/demo_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

#include "cli/demo_checks.hpp"
#include "cli/demo_evidence.hpp"
#include "cli/demo_origin.hpp"
#include "cli/demo_page.hpp"
#include "cli/demo_script.hpp"
#include "cli/sandboxed_run.hpp"
#include "cli/temporary_directory.hpp"
#include "config/load.hpp"
#include "sandbox-launcher/spawn.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

constexpr int kCouldNotRun = 125;

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

bool is_installed(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (::access((fs::path(directory) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

RunOutcome run_script(const TemporaryDirectory& place, const CertificateAuthority& authority,
                      const DemoOrigin& origin, const DemoToken& token) {
  const fs::path workspace = place.path() / "workspace";
  fs::create_directory(workspace);
  write_file(workspace / kDemoScriptFile, demo_script());
  write_file(place.path() / "origin-ca.pem", authority.pem());
  RunSpec spec;
  spec.config =
      parse_config(demo_config(origin.address(), "origin-ca.pem"), place.path() / "demo.yaml");
  spec.policy = spec.config.policies.front().name;
  spec.argv = {"/bin/sh", kDemoScriptFile};
  spec.workspace = workspace;
  if (::setenv(kDemoSource, token.value().c_str(), 1) != 0)
    throw std::runtime_error("cannot set a variable");
  return run_sandboxed(spec);
}

// Either what was found, or the code to end with.
struct DemoEnd {
  std::optional<DemoReport> report;
  int exit_code = kCouldNotRun;
};

// When this returns nothing of the demo is left: no thread, no process, no directory.
DemoEnd run_demo() {
  const TemporaryDirectory place("warder-demo");
  SystemRandom random;
  const DemoToken token(random);
  const SystemClock clock;
  const CertificateAuthority authority(clock, "Warder demo origin");
  DemoOrigin origin(authority, *HostName::parse(kDemoHost));
  origin.start();
  RunOutcome outcome = run_script(place, authority, origin, token);
  origin.stop();
  if (outcome.exit_code > 128) {
    std::fprintf(stderr, "warder demo: ended by signal %d\n", outcome.exit_code - 128);
    return {std::nullopt, outcome.exit_code};
  }
  const int exit_code = outcome.exit_code;
  const DemoEvidence evidence =
      collect_evidence(place.path() / "workspace", token, origin, std::move(outcome));
  if (!evidence.ran()) {
    std::fprintf(stderr,
                 "warder demo: the sandbox ended with exit code %d before its script was through\n",
                 exit_code);
    return {};
  }
  return {check_demo(evidence, token), 0};
}

int show(const DemoReport& report, Json json) {
  const std::string text =
      json == Json::yes ? demo_json(report) : demo_page(report, style_of_stdout());
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return report.ok() && written ? 0 : 1;
}

// From here on Ctrl-C means this process again, at once: there is nothing left to clean up.
void let_signals_through() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
}

}  // namespace

int demo_command(const DemoArgs& args) {
  if (!is_installed("curl")) {
    std::fputs(
        "warder demo: curl is not installed, and the demo needs it: apt-get install curl; nothing "
        "was run\n",
        stderr);
    return kCouldNotRun;
  }
  Sandbox::keep_signals_for_wait();
  try {
    const DemoEnd end = run_demo();
    let_signals_through();
    return end.report ? show(*end.report, args.json) : end.exit_code;
  } catch (const std::exception& error) {
    let_signals_through();
    std::fprintf(stderr, "warder demo: %s\n", error.what());
    return kCouldNotRun;
  }
}

}  // namespace warder
