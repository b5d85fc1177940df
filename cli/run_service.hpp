// The gateway's side of `warder run --gateway`: a session for each, from its request to its end.
#pragma once

#include <atomic>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <string>

#include "admin/server.hpp"
#include "audit/log.hpp"
#include "cli/current_config.hpp"
#include "cli/gateway_process.hpp"
#include "cli/protected_paths.hpp"
#include "cli/run_protocol.hpp"
#include "cli/secret_store.hpp"

namespace warder {

class RunService {
 public:
  static constexpr unsigned kMostRuns = 256;  // at a time
  struct Parts {
    const CurrentConfig& config;
    const SecretStore& store;
    audit::Log& log;
    GatewayProcess& process;
    std::string gateway_id;                   // sessions are named after it
    std::filesystem::path runtime_directory;  // covered in every sandbox
  };
  explicit RunService(Parts parts) : parts_(std::move(parts)) {}

  // On an admin thread. 101 with the rest of the run, or why not.
  AdminReply begin(const AdminRequest& request);
  // Would this configuration do for every run that is open? Throws ConfigError.
  void check(const Config& next) const;

 private:
  struct Run;
  void carry_on(Run& run, int socket);
  bool serve(Run& run, int socket);
  // nullopt: it went without a word.
  void finish(Run& run, int socket, std::optional<int> exit_code);

  Parts parts_;
  std::atomic<std::uint64_t> runs_{0};
  std::atomic<unsigned> open_{0};
  mutable std::mutex seen_mutex_;
  std::list<SeenFiles> seen_;  // by the runs that are open
};

}  // namespace warder
