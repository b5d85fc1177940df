#include "cli/approval_socket.hpp"

#include <algorithm>

#include "cli/state.hpp"

namespace warder {

bool asks(const PolicyConfig& policy) {
  return std::any_of(policy.rules.begin(), policy.rules.end(),
                     [](const Rule& rule) { return rule.action == Action::ask; });
}

ApprovalSocket::ApprovalSocket(const std::string& run) : directory_(runs_directory() / run) {
  make_private_directory(runtime_directory());
  make_private_directory(runs_directory());
  make_private_directory(directory_);
}

ApprovalSocket::~ApprovalSocket() {
  close();
  std::error_code ignored;
  std::filesystem::remove(directory_, ignored);
}

void ApprovalSocket::open(const Sessions& sessions, audit::Log& log, const Clock& clock) {
  service_.emplace(sessions, log, clock);
  server_.emplace(directory_ / "admin.sock", [this](AdminRequest request) {
    if (auto reply = service_->answer(request)) return std::move(*reply);
    AdminReply reply;
    reply.status = 404;
    reply.body = "there is GET " + std::string(kApprovalsPath) + "\n";
    return reply;
  });
}

void ApprovalSocket::close() {
  if (server_) server_->stop();
}

}  // namespace warder
