#include "cli/reload_command.hpp"

#include "cli/admin_client.hpp"
#include "cli/guard.hpp"

namespace warder {

int reload_command(const ReloadArgs& args) {
  return guarded([&] {
    const auto socket = args.gateway.empty() ? usual_gateway_directory() / "admin.sock"
                                             : std::filesystem::absolute(args.gateway);
    AdminAnswer answer = post_to_gateway(socket, kReloadPath, "");
    if (!answer.body.empty() && answer.body.back() == '\n') answer.body.pop_back();
    say(answer.body);
    return answer.status == 200 ? 0 : 2;
  });
}

}  // namespace warder
