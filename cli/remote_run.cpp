#include "cli/remote_run.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <system_error>
#include <thread>

#include "cli/environment.hpp"
#include "cli/exec_reader.hpp"
#include "cli/harden.hpp"
#include "cli/publish_records.hpp"
#include "cli/published_ports.hpp"
#include "cli/run_protocol.hpp"
#include "cli/sandbox_start.hpp"
#include "cli/state.hpp"
#include "http/h1_parser.hpp"
#include "sandbox-launcher/channel.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

[[noreturn]] void gone() { throw RunRefused("the gateway has gone: nothing was run", 125); }

Fd connect_to(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path)
    throw ConfigError("--gateway " + path.string() + ": the path is too long for a socket");
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw RunRefused("--gateway " + path.string() + ": " + std::generic_category().message(errno) +
                         "; start one with: warder gateway --config FILE",
                     2);
  }
  return socket;
}

// The head of the answer byte by byte: what stands behind it belongs to the channel.
std::string read_reply(int socket, int& status) {
  H1Parser parser(H1Parser::Role::response);
  parser.begin_response("POST");
  std::string body;
  status = 0;
  for (char byte = 0;;) {
    if (::recv(socket, &byte, 1, 0) != 1) {
      if (status != 0 && parser.eof() == H1Event::end) return body;
      gone();
    }
    std::string_view in(&byte, 1);
    for (;;) {
      const H1Event event = parser.next(in);
      if (event == H1Event::need_more) break;
      if (event == H1Event::error) gone();
      if (event == H1Event::head) status = parser.response().status;
      if (event == H1Event::body) body += parser.body();
      if (event == H1Event::end || (event == H1Event::head && status == 101)) return body;
    }
  }
}

void ask(int socket, const RunRequest& request) {
  const std::string body = json::serialize(to_json(request));
  std::string text =
      std::string("POST ") + kRunPath +
      " HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: " + kRunUpgrade +
      "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n" + body;
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t n = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n <= 0) break;  // it may have answered already
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  int status = 0;
  const std::string reply = read_reply(socket, status);
  if (status != 101) throw ConfigError(reply.empty() ? "the gateway refused the run" : reply);
}

json::value receive_json(int socket) {
  Message message;
  if (!receive_message(socket, message)) gone();
  boost::system::error_code failed;
  json::value value = json::parse(message.text, failed);
  if (failed || !value.is_object()) gone();
  return value;
}

void hand_over(int socket, Sandbox& sandbox) {
  SandboxListeners& listeners = sandbox.listeners();
  const std::array<std::pair<const char*, Fd*>, 6> places{{{"tcp4", &listeners.tcp4},
                                                           {"tcp6", &listeners.tcp6},
                                                           {"dns_udp4", &listeners.dns_udp4},
                                                           {"dns_udp6", &listeners.dns_udp6},
                                                           {"dns_tcp4", &listeners.dns_tcp4},
                                                           {"dns_tcp6", &listeners.dns_tcp6}}};
  RunListeners named;
  named.port = listeners.port;
  named.bounds = sandbox.bounds();
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

// "20260101T000000Z-ab/run/3" as one word.
std::string name_of(std::string session) {
  std::replace(session.begin(), session.end(), '/', '-');
  return session;
}

// Prints what the gateway says while CMD runs, and keeps its last word.
class Listening {
 public:
  using Tell = std::function<void(const std::string&)>;
  Listening(int socket, Tell announce, Tell summon)
      : socket_(socket), thread_([this, say = std::move(announce), call = std::move(summon)] {
          run(say, call);
          over_.set_value();
        }) {}
  ~Listening() {
    if (thread_.joinable()) thread_.join();
  }
  Listening(const Listening&) = delete;
  // nullopt: the gateway went without one, or takes too long about it.
  std::optional<RunEnd> wait() {
    if (over_.get_future().wait_for(RunChannel::kPatience) != std::future_status::ready)
      ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    return std::move(end_);
  }

 private:
  void run(const Tell& say, const Tell& summon) {
    for (;;) {
      Message message;
      if (!receive_message(socket_, message)) break;
      boost::system::error_code failed;
      const json::value value = json::parse(message.text, failed);
      if (failed || !value.is_object()) break;
      if (const json::value* line = value.as_object().if_contains("say")) {
        if (say && line->is_string()) say(std::string(line->as_string()));
        continue;
      }
      if (const json::value* line = value.as_object().if_contains("summon")) {
        if (summon && line->is_string()) summon(std::string(line->as_string()));
        continue;
      }
      end_ = run_end_from(value);
      return;
    }
    if (say) say("the gateway has gone: the sandbox has no network any more");
  }

  const int socket_;
  std::optional<RunEnd> end_;
  std::promise<void> over_;
  std::thread thread_;
};

}  // namespace

RunOutcome run_behind_gateway(const RunSpec& spec, const fs::path& path) {
  harden_process();
  PublishedPorts published(spec.publish);
  const Fd socket = connect_to(path);
  auto env = sandbox_environment(spec.env);
  if (spec.as_root == AsRoot::yes) become_root(env);
  ask(socket.get(), {spec.policy, spec.argv, env, spec.workspace});
  auto welcome = run_welcome_from(receive_json(socket.get()));
  if (!welcome) gone();
  for (const auto& [name, value] : welcome->placeholders) env[name] = value;

  Sandbox::keep_signals_for_wait();
  std::vector<fs::path> covered(welcome->covered.begin(), welcome->covered.end());
  covered.push_back(fs::absolute(path).lexically_normal().parent_path());
  covered.push_back(runtime_directory());
  covered.push_back(state_directory());
  std::vector<fs::path> frozen(welcome->frozen.begin(), welcome->frozen.end());
  auto files = std::async(std::launch::async,
                          [&spec, covered] { return FileListing(spec.workspace, covered); });
  WorkingTree tree(spec, covered, frozen, spec.run.empty() ? new_run_id() : spec.run,
                   spec.clone.empty() ? TreeChanges::on_host : TreeChanges::caught);
  tree.set_variables(env);
  Bounds bounds = welcome->bounds;
  bounds.beneath(spec.bounds);
  Sandbox sandbox = start_sandbox(spec, {welcome->ca_pem, welcome->ca_hash, caller_trust()},
                                  std::move(env), std::move(covered), std::move(frozen), tree,
                                  {bounds, name_of(welcome->session)});
  // Whatever fails from here on, the gateway has to hear of.
  const FileListing before = files.get();
  hand_over(socket.get(), sandbox);
  const json::value answer = receive_json(socket.get());
  if (const json::value* error = answer.as_object().if_contains("error")) {
    throw RunRefused(error->is_string() ? std::string(error->as_string()) : "refused", 125);
  }
  Listening listening(socket.get(), spec.announce, spec.summon);
  RunOutcome outcome;
  RunChannel channel(socket.get());
  RemotePublishRecorder publish_recorder(channel);
  try {
    // With the gateway the network has gone, and CMD goes on without either.
    ExecReader reader(sandbox.take_reports(), [&](const std::vector<std::string>& packets) {
      if (!packets.empty()) (void)channel.send(to_json(RunReport{packets, std::nullopt}));
      return true;
    });
    published.open(sandbox.pid(), publish_recorder);
    for (const std::string& line : published.lines()) {
      if (spec.announce) spec.announce(line);
    }
    let_go(sandbox);
    outcome.exit_code = sandbox.wait();
    published.close();
    reader.join();
    (void)channel.send(to_json(RunReport{{}, spec.cloned ? spec.cloned() : before.changes()}));
    tree.finish();
  } catch (...) {
    published.close();
    ::shutdown(socket.get(), SHUT_RDWR);  // ends the thread that listens
    throw;
  }
  outcome.bounds = sandbox.bounds();
  (void)channel.send(to_json(RunExit{outcome.exit_code, outcome.bounds}));
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
