#include "cli/gateway_command.hpp"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>

#include "admin/metrics.hpp"
#include "admin/server.hpp"
#include "cli/approval_service.hpp"
#include "cli/caller_trust.hpp"
#include "cli/client_files.hpp"
#include "cli/config_watch.hpp"
#include "cli/gateway_process.hpp"
#include "cli/guard.hpp"
#include "cli/harden.hpp"
#include "cli/listening.hpp"
#include "cli/make_session.hpp"
#include "cli/reload.hpp"
#include "cli/reload_command.hpp"
#include "cli/run_service.hpp"
#include "cli/secret_store.hpp"
#include "cli/secret_watch.hpp"
#include "cli/session_records.hpp"
#include "cli/state.hpp"
#include "config/load.hpp"
#include "secrets/file_stamp.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

fs::path directory_for(const GatewayArgs& args) {
  return args.directory.empty() ? runtime_directory() : fs::absolute(args.directory);
}

// SIGTERM, SIGINT and SIGHUP are read, not handled: for this thread and those it starts.
class Signals {
 public:
  Signals() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGTERM);
    ::sigaddset(&set_, SIGINT);
    ::sigaddset(&set_, SIGHUP);
    (void)std::signal(SIGHUP, SIG_DFL);  // nohup has it ignored, and what is ignored is not read
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  int wait() const {
    int which = 0;
    ::sigwait(&set_, &which);
    return which;
  }
  // One more within `limit` that asks for the end?
  bool wait(milliseconds limit) const {
    const timespec time{limit.count() / 1000, (limit.count() % 1000) * 1'000'000};
    const int which = ::sigtimedwait(&set_, nullptr, &time);
    return which > 0 && which != SIGHUP;
  }

 private:
  sigset_t set_{};
};

std::vector<const PolicyConfig*> all_policies(const Config& config) {
  std::vector<const PolicyConfig*> all;
  for (const PolicyConfig& policy : config.policies) all.push_back(&policy);
  return all;
}

// One session per listener: the listener is the identity, its token the proof.
struct Opened {
  const ListenerConfig* config;
  std::shared_ptr<const ProxyAccess> access;
};

// systemd and its like: a datagram to $NOTIFY_SOCKET.
void notify_ready() {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const std::size_t size = std::strlen(path);
  if (size >= sizeof to.sun_path) return;
  std::memcpy(to.sun_path, path, size);
  if (path[0] == '@') to.sun_path[0] = '\0';
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  static constexpr std::string_view kReady = "READY=1";
  (void)::sendto(socket.get(), kReady.data(), kReady.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&to),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size));
}

std::string shown(const ListenerConfig& listener) {
  const std::string kind = listener.kind == ListenerConfig::Kind::connect ? "connect" : "socks5";
  return listener.name + "=" + kind + (listener.tls ? "+tls" : "") + "://" +
         listener.host.uri_host() + ":" + std::to_string(listener.port);
}

void announce_ready(const std::vector<Opened>& opened, const fs::path& directory) {
  std::string line = "ready directory=" + directory.string();
  for (const Opened& one : opened) line += " " + shown(*one.config);
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  notify_ready();
}

// What runs may end until the limit, or until somebody asks again; then there is a moment for the last words.
constexpr milliseconds kLastWords{1'000};
void drain(GatewayProcess& process, const Signals& signals, std::chrono::seconds limit) {
  process.drain();
  say("draining: " + std::to_string(process.connections()) + " connections are open");
  const auto wait = [&](milliseconds most) {  // false: it shall end at once
    const auto end = steady_clock::now() + most;
    while (process.connections() > 0 && steady_clock::now() < end) {
      if (signals.wait(milliseconds(50))) return false;
    }
    return true;
  };
  if (!wait(limit)) return;
  process.take_leave();
  (void)wait(kLastWords);
}

AdminReply answer_admin(AdminRequest request, RunService& runs, Reload& reload,
                        GatewayProcess& process, const audit::Log& log, const Metrics& metrics) {
  AdminReply reply;
  const bool is_get = request.method == "GET" || request.method == "HEAD";
  if (request.path == kRunPath && request.method == "POST") {
    if (!process.is_draining()) return runs.begin(request);
    reply.status = 503;
    reply.body = "the gateway is draining: it takes no new runs";
  } else if (request.path == kReloadPath && request.method == "POST") {
    return reload.answer(request);
  } else if (request.path == "/livez" && is_get) {
    reply.body = "ok\n";
  } else if (request.path == "/readyz" && is_get) {
    const char* wrong = process.is_draining() ? "draining"
                        : log.healthy()       ? ""
                                              : "audit_unavailable";
    reply.status = *wrong == '\0' ? 200 : 503;
    reply.body = *wrong == '\0' ? "ok\n" : std::string(wrong) + "\n";
  } else if (request.path == "/metrics" && is_get) {
    reply.type = "text/plain; version=0.0.4; charset=utf-8";
    const GatewayGauges now{process.sessions().list().size(), process.connections()};
    reply.body = metrics.text(now, log.healthy());
  } else {
    const bool known = request.path == kRunPath || request.path == kReloadPath ||
                       request.path == "/livez" || request.path == "/readyz" ||
                       request.path == "/metrics";
    reply.status = known ? 405 : 404;
    reply.body = "there are GET /livez, /readyz, /metrics, " + std::string(kApprovalsPath) +
                 " and POST " + kRunPath + ", " + kReloadPath + "\n";
  }
  return reply;
}

// What a client would only learn at its first connection is told at the start.
void check_proxy_certificate(const ListenerConfig& listener) {
  if (!listener.tls || listener.tls->name) return;
  const SandboxTls tls;
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(tls.make(), SSL_free);
  if (SandboxTls::present_files(ssl.get(), listener.tls->certificate, listener.tls->key)) return;
  throw ConfigError(listener.where + ": tls: " + listener.tls->certificate.string() +
                    " is not a certificate chain to which " + listener.tls->key.string() +
                    " is the key");
}

int run_gateway(const GatewayArgs& args) {
  harden_process();
  for (const std::string& note : caller_trust().notes) say(note);
  const FileStamp as_read = FileStamp::of(args.config);
  const auto first = std::make_shared<const Config>(load_config(args.config));
  const Config& config = *first;  // of what a reload never changes
  CurrentConfig current(first);
  SystemRandom random;
  SystemClock clock;
  SecretStore store(config, all_policies(config), SecretStore::Listeners::opened);
  std::vector<Fd> sockets;
  for (const ListenerConfig& listener : config.gateway.listeners) {
    check_proxy_certificate(listener);
    sockets.push_back(listen_on(listener.host, listener.port, listener.where));
  }

  const Signals signals;
  make_state_directories();
  const std::string run = new_run_id();
  const fs::path& named = config.gateway.audit_file;
  Metrics metrics;
  auto file_log =
      open_audit_log(named.empty() ? audit_directory() / (run + ".jsonl") : named, run, clock);
  const auto log = std::make_unique<CountedLog>(std::move(file_log), metrics);
  GatewayProcess process(config, *log, clock);
  const fs::path directory = directory_for(args);
  ClientFiles files(directory, process.authority());

  std::vector<Opened> opened;
  for (const ListenerConfig& listener : config.gateway.listeners) {
    const PolicyConfig& policy = *config.policy(listener.policy);
    PreparedSecrets prepared = store.for_session(policy, random);
    const auto placeholders = prepared.placeholder_env;
    auto session = make_session(run + "/" + listener.name, policy, std::move(prepared));
    session->announce = [name = listener.name](const std::string& line) {
      say(name + ": " + line);
    };
    session->summon = session->announce;
    if (policy.observes) session->announce(kObserving);
    if (!record_start(*log, *session, config, {"(listener)", shown(listener)}, {::getuid()}))
      throw RunRefused("the audit log cannot be written: nothing was opened", 125);
    files.write(listener, placeholders);
    auto access = std::make_shared<const ProxyAccess>(std::move(session), store.token_of(listener),
                                                      listener.tls);
    opened.push_back({&listener, std::move(access)});
  }
  process.start();
  for (std::size_t i = 0; i < opened.size(); ++i)
    process.serve_proxy(opened[i].access, opened[i].config->kind, std::move(sockets[i]));
  SecretWatch watch({store, process.sessions(), *log, say});
  RunService runs({current, store, *log, process, run, directory});
  Reload reload({current, store, process.sessions(), *log,
                 [file = fs::absolute(args.config)] { return load_config(file); },
                 [&runs](const Config& next) { runs.check(next); }, ""});
  const ApprovalService approvals(process.sessions(), *log, clock);
  AdminServer admin(directory / "admin.sock", [&](AdminRequest request) {
    if (auto reply = approvals.answer(request)) return std::move(*reply);
    return answer_admin(std::move(request), runs, reload, process, *log, metrics);
  });
  std::optional<ConfigWatch> config_watch;
  if (args.watch)
    config_watch.emplace(fs::absolute(args.config), as_read,
                         [&] { say(reload.run("file").said()); });
  announce_ready(opened, directory);

  // On a thread of its own: a helper may be slow, and what is asked meanwhile is answered.
  std::future<void> reading;
  const auto read_again = [&] { say(reload.run("SIGHUP").said()); };
  while (signals.wait() == SIGHUP) {
    try {
      reading = std::async(std::launch::async, read_again);
    } catch (const std::system_error&) {
      read_again();  // no thread to be had
    }
  }
  drain(process, signals, std::chrono::seconds(args.drain_seconds));
  admin.stop();
  config_watch.reset();
  if (reading.valid()) reading.wait();
  watch.stop();
  process.stop();
  bool whole = true;
  for (const Opened& one : opened) {
    whole &= record_rest(*log, *one.access->session, one.access->strangers);
    whole &= record_end(*log, *one.access->session, 0);
  }
  if (log->close() && whole) return 0;
  say("the audit log could not be closed whole");
  return 125;
}

}  // namespace

int gateway_command(const GatewayArgs& args) {
  return guarded([&] { return run_gateway(args); });
}

}  // namespace warder
