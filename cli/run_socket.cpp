#include "cli/run_socket.hpp"

#include "admin/client.hpp"
#include "cli/state.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

// What runs left that were killed. One that has just begun may not listen yet.
void remove_dead(const fs::path& runs) {
  constexpr std::chrono::minutes kYoung{1};
  std::error_code failed;
  for (auto each = fs::directory_iterator(runs, failed);
       !failed && each != fs::directory_iterator(); each.increment(failed)) {
    const fs::path socket = each->path() / "admin.sock";
    std::error_code unknown;
    const auto made = fs::last_write_time(each->path(), unknown);
    if (unknown || fs::file_time_type::clock::now() - made < kYoung) continue;
    if (fs::exists(socket, unknown) && listens(socket)) continue;
    fs::remove(socket, unknown);
    fs::remove(each->path(), unknown);
  }
}

}  // namespace

RunSocket::RunSocket(const std::string& run) : directory_(runs_directory() / run) {
  make_private_directory(runtime_directory());
  make_private_directory(runs_directory());
  remove_dead(runs_directory());
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
