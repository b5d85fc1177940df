// Sockets in a sandbox's network, for `warder` outside: made by a process that joined that network and can do nothing
// else (sandbox-launcher/socket_maker.hpp).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <variant>

#include "base/fd.hpp"
#include "sandbox-launcher/spawn.hpp"

namespace warder {

enum class IpFamily : std::uint8_t { v4, v6 };

class InsideSockets {
 public:
  // `sandbox` is the pid of one that stands; its namespaces are joined as they are now. `launcher` as for
  // Sandbox::start.
  static std::variant<InsideSockets, LaunchFailure> start(pid_t sandbox,
                                                          const std::filesystem::path& launcher);
  InsideSockets(InsideSockets&& other) noexcept;
  InsideSockets& operator=(InsideSockets&&) = delete;
  ~InsideSockets();  // ends the process and reaps it

  // A TCP socket, not connected, not blocking. Empty: there is none to be had. Takes one round trip; one thread at a
  // time.
  Fd make(IpFamily family);
  pid_t pid() const { return pid_; }

 private:
  InsideSockets(pid_t pid, Fd channel) : pid_(pid), channel_(std::move(channel)) {}
  pid_t pid_ = -1;
  Fd channel_;
};

}  // namespace warder
