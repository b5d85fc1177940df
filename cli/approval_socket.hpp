// The admin socket of a `warder run` with a gateway of its own: for approvals alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/approval_service.hpp"
#include "config/config.hpp"

namespace warder {

// Has the policy a rule that asks?
bool asks(const PolicyConfig& policy);

class ApprovalSocket {
 public:
  // Makes runs_directory()/RUN, where the socket will be: before the sandbox, which must not see it. Throws
  // std::runtime_error.
  explicit ApprovalSocket(const std::string& run);
  ~ApprovalSocket();  // close(), and the directory goes
  ApprovalSocket(const ApprovalSocket&) = delete;

  void open(const Sessions& sessions, audit::Log& log, const Clock& clock);
  void close();

 private:
  std::filesystem::path directory_;
  std::optional<ApprovalService> service_;
  std::optional<AdminServer> server_;
};

}  // namespace warder
