#include "cli/remote_run.hpp"

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "cli/admin_client.hpp"
#include "cli/environment.hpp"
#include "cli/harden.hpp"
#include "cli/run_protocol.hpp"
#include "cli/sandbox_start.hpp"
#include "sandbox-launcher/channel.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

[[noreturn]] void gone() { throw RunRefused("the gateway has gone: nothing was run", 125); }

void ask(int socket, const RunRequest& request) {
  const std::string body = json::serialize(to_json(request));
  const AdminAnswer answer = call_gateway(
      socket, std::string("POST ") + kRunPath +
                  " HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: " + kRunUpgrade +
                  "\r\nContent-Type: application/json\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body);
  if (answer.status != 101)
    throw ConfigError(answer.body.empty() ? "the gateway refused the run" : answer.body);
}

json::value receive_json(int socket) {
  Message message;
  if (!receive_message(socket, message)) gone();
  boost::system::error_code failed;
  json::value value = json::parse(message.text, failed);
  if (failed || !value.is_object()) gone();
  return value;
}

void hand_over(int socket, SandboxListeners& listeners) {
  const std::array<std::pair<const char*, Fd*>, 6> places{{{"tcp4", &listeners.tcp4},
                                                           {"tcp6", &listeners.tcp6},
                                                           {"dns_udp4", &listeners.dns_udp4},
                                                           {"dns_udp6", &listeners.dns_udp6},
                                                           {"dns_tcp4", &listeners.dns_tcp4},
                                                           {"dns_tcp6", &listeners.dns_tcp6}}};
  RunListeners named;
  named.port = listeners.port;
  std::vector<int> fds;
  for (const auto& [name, fd] : places) {
    if (!*fd) continue;
    named.names.emplace_back(name);
    fds.push_back(fd->get());
  }
  if (!send_message(socket, json::serialize(to_json(named)), fds)) gone();
  // Ours go: with the gateway's copies closed, nobody accepts what the sandbox dials.
  for (const auto& [name, fd] : places) fd->reset();
}

// Prints what the gateway says while CMD runs, and keeps its last word.
class Listening {
 public:
  Listening(int socket, std::function<void(const std::string&)> announce)
      : thread_([this, socket, say = std::move(announce)] { run(socket, say); }) {}
  ~Listening() {
    if (thread_.joinable()) thread_.join();
  }
  Listening(const Listening&) = delete;
  // nullopt: the gateway went without one.
  std::optional<RunEnd> wait() {
    thread_.join();
    return std::move(end_);
  }

 private:
  void run(int socket, const std::function<void(const std::string&)>& say) {
    for (;;) {
      Message message;
      if (!receive_message(socket, message)) break;
      boost::system::error_code failed;
      const json::value value = json::parse(message.text, failed);
      if (failed || !value.is_object()) break;
      if (const json::value* line = value.as_object().if_contains("say")) {
        if (say && line->is_string()) say(std::string(line->as_string()));
        continue;
      }
      end_ = run_end_from(value);
      return;
    }
    if (say) say("the gateway has gone: the sandbox has no network any more");
  }

  std::optional<RunEnd> end_;
  std::thread thread_;
};

}  // namespace

RunOutcome run_behind_gateway(const RunSpec& spec, const fs::path& path) {
  harden_process();
  const Fd socket = connect_to_gateway(path);
  auto env = sandbox_environment(spec.env);
  ask(socket.get(), {spec.policy, spec.argv, env, spec.workspace});
  auto welcome = run_welcome_from(receive_json(socket.get()));
  if (!welcome) gone();
  for (const auto& [name, value] : welcome->placeholders) env[name] = value;

  Sandbox::keep_signals_for_wait();
  std::vector<fs::path> covered(welcome->covered.begin(), welcome->covered.end());
  covered.push_back(fs::absolute(path).lexically_normal().parent_path());
  std::vector<fs::path> frozen(welcome->frozen.begin(), welcome->frozen.end());
  Sandbox sandbox = start_sandbox(spec, {welcome->ca_pem, welcome->ca_hash}, std::move(env),
                                  std::move(covered), std::move(frozen));
  hand_over(socket.get(), sandbox.listeners());
  const json::value answer = receive_json(socket.get());
  if (const json::value* error = answer.as_object().if_contains("error")) {
    throw RunRefused(error->is_string() ? std::string(error->as_string()) : "refused", 125);
  }
  Listening listening(socket.get(), spec.announce);
  RunOutcome outcome;
  try {
    let_go(sandbox);
    outcome.exit_code = sandbox.wait();
  } catch (...) {
    ::shutdown(socket.get(), SHUT_RDWR);  // ends the thread that listens
    throw;
  }
  (void)send_message(socket.get(), json::serialize(json::object{{"exit", outcome.exit_code}}));
  auto end = listening.wait();
  if (!end) return outcome;
  outcome.audit_file = end->audit_file;
  outcome.denials = std::move(end->denials);
  outcome.other_denials = end->others;
  outcome.exchanges = end->exchanges;
  outcome.audit_whole = end->recorded;
  return outcome;
}

}  // namespace warder
