#include "cli/reload_command.hpp"

#include "admin/client.hpp"
#include "cli/guard.hpp"
#include "cli/open_questions.hpp"
#include "cli/reload.hpp"

namespace warder {
namespace {

constexpr const char* kStartOne = "; start one with: warder gateway --config FILE";

std::filesystem::path only_one() {
  auto sockets = gateway_sockets();
  // What was killed leaves its socket behind.
  std::erase_if(sockets, [](const auto& socket) { return !listens(socket); });
  if (sockets.empty()) throw RunRefused(std::string("no gateway runs here") + kStartOne, 2);
  if (sockets.size() == 1) return sockets.front();
  std::string all;
  for (const auto& socket : sockets) all += "\n  --gateway " + socket.string();
  throw ConfigError("several run here: say which with" + all);
}

}  // namespace

int reload_command(const ReloadArgs& args) {
  return guarded([&] {
    const auto socket = args.gateway.empty() ? only_one() : std::filesystem::absolute(args.gateway);
    AdminAnswer answer = ask_admin(socket, "POST", kReloadPath);
    if (answer.status == 0)
      throw RunRefused("no gateway listens at " + socket.string() + kStartOne, 2);
    if (!answer.body.empty() && answer.body.back() == '\n') answer.body.pop_back();
    say(answer.body);
    return answer.status == 200 ? 0 : 2;
  });
}

}  // namespace warder
