// Starts `warder-sandbox` and talks to it: what `warder` knows of the launcher.
#pragma once

#include <sys/signalfd.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/bounds.hpp"
#include "base/fd.hpp"
#include "sandbox-launcher/bounds_watch.hpp"
#include "sandbox-launcher/output_meter.hpp"
#include "sandbox-launcher/status.hpp"

namespace warder {

// A file or directory that lies in the sandbox's own home.
struct HomeTree {
  std::filesystem::path at;      // relative to the home
  std::filesystem::path source;  // absolute
  enum class Access : std::uint8_t { read_only, read_write } access = Access::read_only;
};

// A file of which CMD sees another text.
struct ShownText {
  std::filesystem::path path;  // absolute
  std::string text;
};

// A link in the sandbox's own home. Both relative to it.
struct HomeLink {
  std::filesystem::path at;
  std::filesystem::path target;
};

enum class WorkspaceAccess : bool { read_only, read_write };
// Whether tools in the caller's home, and who commits, are seen.
enum class CallerHome : bool { hidden, tools };
// Is CMD uid 0 in its own user namespace? It has no capability there either.
enum class AsRoot : bool { no, yes };

// What a sandbox is to be. Holds placeholders, never a value.
struct SandboxSpec {
  std::vector<std::string> argv;                  // CMD…; never expanded by us
  std::map<std::string, std::string> env;         // the whole environment of CMD
  std::filesystem::path workspace;                // absolute; CMD's working directory, writable
  std::vector<std::filesystem::path> read_only;   // --ro, absolute
  std::vector<std::filesystem::path> read_write;  // --rw, absolute
  std::vector<HomeTree> home;                     // parents before what lies in them
  // Absolute directories that CMD must see empty and cannot write, rename or replace: audit, file sources, state.
  std::vector<std::filesystem::path> covered;
  // Absolute files that CMD may read and must not change: what the next run will believe (configuration, certificates).
  std::vector<std::filesystem::path> frozen;

  // Of the working trees. Absolute; what is not there is passed over, and nothing is made for it.
  std::vector<std::filesystem::path> protected_paths;  // CMD may read and cannot change or replace
  std::vector<std::filesystem::path> masked;           // files that CMD sees empty
  std::vector<ShownText> shown_texts;
  WorkspaceAccess workspace_access = WorkspaceAccess::read_write;
  CallerHome caller_home = CallerHome::tools;
  std::vector<HomeLink> home_links;

  AsRoot as_root = AsRoot::no;

  std::filesystem::path executable_dir;  // Warder's own executables: read-only inside
  std::string bundle_pem;                // the merged trust bundle
  std::string ca_pem;
  std::string ca_hash;  // certs/authority.hpp subject_hash()

  std::string added_pem;   // the CA, and what else the caller trusts and the system does not
  std::string java_store;  // PKCS #12

  Bounds bounds;     // what it may take of the machine
  std::string name;  // of the run: its control groups have it

  // Absolute directory of the layers (overlay.hpp): the workspace inside is a clone, the host's stays as it is. Empty:
  // the host's own.
  std::filesystem::path clone;
};

// Of the environment that warder itself was started with; warder-sandbox gets none of its own.
struct Caller {
  std::string home;      // $HOME, absolute, may be empty
  std::string path;      // $PATH
  std::string sudo_uid;  // $SUDO_UID when started as root; may be empty
};

// Paths inside the sandbox that the environment names.
inline constexpr const char* kBundlePath = "/etc/ssl/certs/ca-certificates.crt";
inline constexpr const char* kCaPath = "/etc/ssl/certs/warder-ca.pem";
inline constexpr const char* kJavaStorePath = "/etc/ssl/certs/java/cacerts";  // Debian's own place
inline constexpr const char* kAptPath = "/etc/warder-apt.conf";               // with AsRoot::yes
inline constexpr const char* kHomePath = "/home/sandbox";  // HOME inside; the private home

// Listening sockets that were made inside the sandbox's network namespace.
struct SandboxListeners {
  Fd tcp4;  // 127.0.0.1:port: redirected IPv4 connections; SO_ORIGINAL_DST tells the destination
  Fd tcp6;  // [::1]:port: redirected IPv6 connections
  Fd dns_udp4;  // 0.0.0.0:53 with IP_PKTINFO: answer from the address that was asked
  Fd dns_udp6;  // [::]:53 with IPV6_RECVPKTINFO
  Fd dns_tcp4;  // 127.0.0.1:53 (loopback is not redirected)
  Fd dns_tcp6;  // [::1]:53
  std::uint16_t port = 0;
};

struct LaunchFailure {
  std::string message;  // which step, which kernel feature, how to fix it, and that nothing ran
  int exit_code = 125;  // 2 for what the user can mend on the command line, 125 otherwise
};

// Does CMD get the terminal: a process group of its own, in the foreground? Only when it is the whole job.
enum class Foreground : bool { no, yes };

class Sandbox {
 public:
  // Blocks, for this thread and those it starts from now on, the signals that wait() reads. Call it before any
  // thread is started.
  static void keep_signals_for_wait();
  // Starts warder-sandbox with a scrubbed environment, hands it the plan and waits until the namespaces, the
  // network and the listeners stand. CMD is not running yet.
  static std::variant<Sandbox, LaunchFailure> start(const SandboxSpec& spec, const Caller& caller,
                                                    const std::filesystem::path& launcher);
  Sandbox(Sandbox&&) noexcept;
  Sandbox& operator=(Sandbox&&) noexcept;
  ~Sandbox();  // kills what is left and reaps it

  SandboxListeners& listeners() { return listeners_; }
  // A SEQPACKET socket on which the sandbox's first process tells what is executed (exec_report.hpp), until its end.
  // While nobody reads, nothing is executed.
  Fd take_reports() { return std::move(reports_); }
  pid_t pid() const { return pid_; }
  // What holds each bound, and after wait() what became of it.
  const std::vector<HeldBound>& bounds() const { return watch_.held(); }

  // Lets CMD run.
  std::variant<std::monostate, LaunchFailure> go();
  // Blocks until the sandbox has ended: CMD's exit code, 128+n for a signal, 126/127 as a shell. Forwards SIGTERM,
  // SIGHUP and SIGINT that are sent to this process alone; leaves Ctrl-C and Ctrl-Z of the terminal to CMD; gives
  // the terminal back to this process's group at the end. 124 when its time was up, 137 when it passed another bound.
  int wait();

 private:
  Sandbox() = default;
  void forward(const signalfd_siginfo& what, int inside);
  void end_now() const;
  void look_at_bounds();
  int patience() const;
  void drain_output(int signals) const;
  pid_t pid_ = -1;
  Fd first_;  // the first process of its process namespace
  Fd control_;
  Foreground foreground_ = Foreground::no;
  int ended_early_by_ = 0;  // a signal that came before there was a CMD to pass it to
  std::chrono::steady_clock::time_point kill_at_ = std::chrono::steady_clock::time_point::max();
  Status status_;
  BoundsWatch watch_;
  OutputMeter output_;
  SandboxListeners listeners_;
  Fd reports_;
};

}  // namespace warder
