#include "cli/doctor_command.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cli/child_program.hpp"
#include "cli/doctor_host.hpp"
#include "cli/doctor_report.hpp"
#include "cli/guard.hpp"
#include "cli/temporary_directory.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kInit = "/.warder-init";  // warder-sandbox, as every sandbox has it

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

fs::path own_executable() { return fs::read_symlink("/proc/self/exe"); }
fs::path launcher() { return own_executable().parent_path() / "warder-sandbox"; }

std::string sudo_uid() {
  const char* uid = std::getenv("SUDO_UID");
  return uid != nullptr ? uid : "";
}

// An owner for the throwaway workspace whom root need not map: a file system without idmapped mounts has a check of
// its own.
void give_workspace(const fs::path& workspace) {
  constexpr unsigned long kNobody = 65'534;
  if (::geteuid() != 0) return;
  unsigned long uid = std::strtoul(sudo_uid().c_str(), nullptr, 10);
  if (uid == 0) uid = kNobody;
  if (::chown(workspace.c_str(), static_cast<uid_t>(uid), static_cast<gid_t>(uid)) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot give a directory away");
}

std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  constexpr std::string_view kPrefix = "warder: ";
  if (line.starts_with(kPrefix)) line.erase(0, kPrefix.size());
  return line;
}

class Doctor {
 public:
  Doctor() : scratch_("warder-doctor") {
    for (const char* name : {"workspace", "state", "run", "probe"})
      fs::create_directory(scratch_.path() / name);
    give_workspace(scratch_.path() / "workspace");
    // The probe's own directory is for whoever the workload is; what lies beside it stays closed.
    fs::permissions(scratch_.path(),
                    fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  }

  std::vector<Attempt> examine() {
    std::vector<Attempt> attempts = try_launcher();
    add(attempts, try_host());
    attempts.push_back(try_run());
    add(attempts, try_inside());
    return attempts;
  }

 private:
  static void add(std::vector<Attempt>& to, std::vector<Attempt> more) {
    for (Attempt& each : more) to.push_back(std::move(each));
  }

  std::vector<Attempt> try_launcher() const {
    const ChildResult result =
        run_program({{launcher(), "--probe", (scratch_.path() / "probe").string(),
                      fs::current_path().string(), sudo_uid()},
                     {},
                     "/"});
    if (result.code == 0) return from_lines(result.out);
    throw RunRefused(result.err.empty() ? "cannot start " + launcher().string() +
                                              ": is it installed beside warder?"
                                        : first_line(result.err),
                     1);
  }

  // A run that leaves no record with the others.
  ChildResult run(const std::vector<std::string>& command) const {
    std::vector<std::string> argv{own_executable(), "run", "--quiet", "--"};
    argv.insert(argv.end(), command.begin(), command.end());
    return run_program({std::move(argv),
                        {{"XDG_STATE_HOME", scratch_.path() / "state"},
                         {"XDG_RUNTIME_DIR", scratch_.path() / "run"}},
                        scratch_.path() / "workspace"});
  }

  Attempt try_run() const {
    const auto start = Clock::now();
    const ChildResult result = run({"true"});
    Attempt out{"run", Outcome::ok, 0, {}, Cause::unknown, milliseconds_since(start)};
    if (result.code == 0) return out;
    out.outcome = Outcome::refused;
    out.said = "exit code " + std::to_string(result.code) + ": " + first_line(result.err);
    return out;
  }

  std::vector<Attempt> try_inside() const {
    const ChildResult result = run({kInit, "--probe-inside"});
    std::vector<Attempt> attempts = from_lines(result.out);
    for (const char* name : {"no_privileges", "terminal_injection", "shared_memory"}) {
      const bool heard = std::any_of(attempts.begin(), attempts.end(),
                                     [&](const Attempt& one) { return one.name == name; });
      if (heard) continue;
      attempts.push_back(
          {name, Outcome::refused, 0, "could not be tried: no sandbox stands", Cause::unknown, 0});
    }
    return attempts;
  }

  TemporaryDirectory scratch_;
};

}  // namespace

int doctor_command(const DoctorArgs& args) {
  return guarded([&] {
    const auto start = Clock::now();
    DoctorReport report = make_report(Doctor().examine(), launcher());
    report.milliseconds = milliseconds_since(start);
    const std::string text = args.json == Json::yes ? json_of(report) : text_of(report);
    const bool printed = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return report.works() && printed ? 0 : 1;
  });
}

}  // namespace warder
