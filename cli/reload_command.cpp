#include "cli/reload_command.hpp"

#include "admin/client.hpp"
#include "cli/guard.hpp"
#include "cli/state.hpp"

namespace warder {

int reload_command(const ReloadArgs& args) {
  return guarded([&] {
    const auto socket = args.gateway.empty() ? runtime_directory() / "admin.sock"
                                             : std::filesystem::absolute(args.gateway);
    AdminAnswer answer = ask_admin(socket, "POST", kReloadPath);
    if (answer.status == 0)
      throw RunRefused("no gateway listens at " + socket.string() +
                           "; start one with: warder gateway --config FILE",
                       2);
    if (!answer.body.empty() && answer.body.back() == '\n') answer.body.pop_back();
    say(answer.body);
    return answer.status == 200 ? 0 : 2;
  });
}

}  // namespace warder
