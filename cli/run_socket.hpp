// The admin socket of a `warder run` with a gateway of its own: approvals, and the reload of its configuration.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/approval_service.hpp"
#include "cli/reload.hpp"

namespace warder {

class RunSocket {
 public:
  // Makes runs_directory()/RUN, where the socket will be: before the sandbox, which must not see it. Throws
  // std::runtime_error.
  explicit RunSocket(const std::string& run);
  ~RunSocket();  // close(), and the directory goes
  RunSocket(const RunSocket&) = delete;

  void open(const Sessions& sessions, audit::Log& log, const Clock& clock, Reload& reload);
  void close();

 private:
  std::filesystem::path directory_;
  std::optional<ApprovalService> approvals_;
  std::optional<AdminServer> server_;
};

}  // namespace warder
