#include "cli/run_socket.hpp"

#include "cli/state.hpp"

namespace warder {

RunSocket::RunSocket(const std::string& run) : directory_(runs_directory() / run) {
  make_private_directory(runtime_directory());
  make_private_directory(runs_directory());
  make_private_directory(directory_);
}

RunSocket::~RunSocket() {
  close();
  std::error_code ignored;
  std::filesystem::remove(directory_, ignored);
}

void RunSocket::open(const Sessions& sessions, audit::Log& log, const Clock& clock,
                     Reload& reload) {
  approvals_.emplace(sessions, log, clock);
  server_.emplace(directory_ / "admin.sock", [this, &reload](AdminRequest request) {
    if (auto reply = approvals_->answer(request)) return std::move(*reply);
    if (request.path == kReloadPath && request.method == "POST") return reload.answer(request);
    AdminReply reply;
    reply.status = 404;
    reply.body = "there are GET " + std::string(kApprovalsPath) + " and POST " + kReloadPath + "\n";
    return reply;
  });
}

void RunSocket::close() {
  if (server_) server_->stop();
}

}  // namespace warder
