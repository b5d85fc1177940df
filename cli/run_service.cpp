#include "cli/run_service.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <optional>

#include "base/random.hpp"
#include "cli/environment.hpp"
#include "cli/make_session.hpp"
#include "cli/protected_paths.hpp"
#include "cli/publish_records.hpp"
#include "cli/run_records.hpp"
#include "cli/session_records.hpp"
#include "sandbox-launcher/channel.hpp"

namespace warder {
namespace {

namespace json = boost::json;

constexpr int kKilled = 137;  // of a run that went without a word
constexpr std::chrono::milliseconds kEndLimit{5'000};
constexpr int kTickMs = 1'000;

AdminReply refused(int status, std::string why) {
  AdminReply reply;
  reply.status = status;
  reply.body = std::move(why);
  return reply;
}

std::vector<std::string> strings(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::string> out;
  for (const auto& path : paths) out.push_back(path.string());
  return out;
}

json::value parsed(const std::string& text) {
  boost::system::error_code failed;
  json::value value = json::parse(text, failed);
  return failed ? json::value() : value;
}

// The sandbox's sockets by name; a name that is not known is dropped, and closed.
SandboxListeners listeners_from(const RunListeners& named, std::vector<Fd> fds) {
  SandboxListeners listeners;
  listeners.port = named.port;
  const std::array<std::pair<std::string_view, Fd*>, 6> places{{{"tcp4", &listeners.tcp4},
                                                                {"tcp6", &listeners.tcp6},
                                                                {"dns_udp4", &listeners.dns_udp4},
                                                                {"dns_udp6", &listeners.dns_udp6},
                                                                {"dns_tcp4", &listeners.dns_tcp4},
                                                                {"dns_tcp6", &listeners.dns_tcp6}}};
  for (std::size_t i = 0; i < named.names.size() && i < fds.size(); ++i) {
    for (const auto& [name, place] : places) {
      if (name == named.names[i]) *place = std::move(fds[i]);
    }
  }
  return listeners;
}

// The protocol trusts its peer, who is the same user; but what is no listener of the internet would hang or end the
// gateway, and every other sandbox with it.
bool is_listener(const Fd& fd, bool datagrams) {
  const auto option = [&](int name) {
    int value = -1;
    socklen_t size = sizeof value;
    return ::getsockopt(fd.get(), SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
  };
  const int domain = option(SO_DOMAIN);
  if (domain != AF_INET && domain != AF_INET6) return false;
  if (datagrams) return option(SO_PROTOCOL) == IPPROTO_UDP;
  return option(SO_PROTOCOL) == IPPROTO_TCP && option(SO_ACCEPTCONN) == 1;
}

bool are_listeners(const RunListeners& named, const std::vector<Fd>& fds) {
  if (named.names.size() != fds.size()) return false;
  for (std::size_t i = 0; i < fds.size(); ++i) {
    if (!is_listener(fds[i], named.names[i].starts_with("dns_udp"))) return false;
  }
  return true;
}

// False: it tells what is none.
bool take_report(RunRecords& records, const RunReport& report) {
  for (const std::string& packet : report.packets) {
    if (!records.take(packet)) return false;
  }
  if (report.files) records.changed(*report.files);
  return true;
}

// A run of another version might know nothing of them.
bool holds_all(const Bounds& wanted, const std::vector<HeldBound>& held) {
  for (std::size_t i = 0; i < kBounds; ++i) {
    const auto bound = static_cast<Bound>(i);
    const bool is_held = std::any_of(held.begin(), held.end(),
                                     [&](const HeldBound& each) { return each.bound == bound; });
    if (wanted.find(bound) && !is_held) return false;
  }
  return true;
}

}  // namespace

// What is said to the person goes by this: written by the workers, read by the run's own thread. Bounded.
struct SayQueue {
  static constexpr std::size_t kMost = 64;
  SayQueue() : wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  using Line = std::pair<std::string, std::string>;  // the key, and what is said

  void push(Line line) {
    const std::scoped_lock lock(mutex);
    if (lines.size() >= kMost) return;
    lines.push_back(std::move(line));
    const std::uint64_t one = 1;
    (void)!::write(wake.get(), &one, sizeof one);
  }
  std::deque<Line> take() {
    const std::scoped_lock lock(mutex);
    std::uint64_t count = 0;
    (void)!::read(wake.get(), &count, sizeof count);
    return std::exchange(lines, {});
  }

  std::mutex mutex;
  std::deque<Line> lines;
  Fd wake;
};

struct RunService::Run {
  explicit Run(RunService& of) : service(of) { ++service.open_; }
  Run(const Run&) = delete;
  ~Run() {
    --service.open_;
    if (!seen) return;
    const std::scoped_lock lock(service.seen_mutex_);
    service.seen_.erase(*seen);
  }
  void sees(SeenFiles files) {
    const std::scoped_lock lock(service.seen_mutex_);
    seen = service.seen_.insert(service.seen_.end(), std::move(files));
  }
  RunService& service;
  std::optional<std::list<SeenFiles>::iterator> seen;
  RunRequest request;
  std::shared_ptr<const Config> config;  // that it began with
  RunWelcome welcome;
  unsigned uid = 0;               // whose it is
  std::vector<HeldBound> bounds;  // what became of them, as it says at its end
  std::shared_ptr<Session> session;
  std::unique_ptr<RunRecords> records;  // from its start on
  std::shared_ptr<SayQueue> say = std::make_shared<SayQueue>();
};

void RunService::check(const Config& next) const {
  const std::scoped_lock lock(seen_mutex_);
  for (const SeenFiles& seen : seen_) seen.check(next);
}

AdminReply RunService::begin(const AdminRequest& request) {
  if (request.upgrade != kRunUpgrade) return refused(400, "this needs Upgrade: warder-run");
  auto asked = run_request_from(parsed(request.body));
  if (!asked || asked->workspace.is_relative()) return refused(400, "the request is malformed");
  const auto config = parts_.config.now();
  const auto& policies = config->policies;
  if (asked->policy.empty() && policies.size() == 1) asked->policy = policies.front().name;
  const PolicyConfig* policy = config->policy(asked->policy);
  if (policy == nullptr) {
    return refused(400, asked->policy.empty()
                            ? "the gateway has several policies: say --policy with one of them"
                            : "the gateway has no policy named '" + asked->policy + "'");
  }
  auto run = std::make_shared<Run>(*this);
  if (open_ > kMostRuns)
    return refused(503, "the gateway serves " + std::to_string(kMostRuns) + " runs already");
  try {
    SystemRandom random;
    PreparedSecrets prepared = parts_.store.for_session(*policy, random);
    refuse_values(asked->command, asked->env, *parts_.store.everything());
    auto covered = covered_directories(*config, asked->workspace, parts_.log.file());
    covered.push_back(parts_.runtime_directory);
    run->welcome.session = parts_.gateway_id + "/run/" + std::to_string(++runs_);
    run->welcome.ca_pem = parts_.process.authority().pem();
    run->welcome.ca_hash = parts_.process.authority().subject_hash();
    run->welcome.placeholders = prepared.placeholder_env;
    run->welcome.covered = strings(covered);
    const auto frozen = believed_files(*config);
    run->welcome.frozen = strings(frozen);
    run->welcome.bounds = policy->bounds;
    run->sees({asked->workspace, parts_.log.file(), covered, frozen});
    run->session = make_session(run->welcome.session, *policy, std::move(prepared));
  } catch (const std::exception& error) {
    return refused(400, error.what());
  }
  run->session->announce = [say = run->say](const std::string& line) { say->push({"say", line}); };
  run->session->summon = [say = run->say](const std::string& line) { say->push({"summon", line}); };
  if (policy->observes) run->session->announce(kObserving);
  run->request = std::move(*asked);
  run->uid = request.uid;
  run->config = config;
  AdminReply reply;
  reply.status = 101;
  reply.take_over = [this, run](int socket) { carry_on(*run, socket); };
  return reply;
}

bool RunService::serve(Run& run, int socket) {
  if (!send_message(socket, json::serialize(to_json(run.welcome)))) return false;
  Message message;
  if (!receive_message(socket, message)) return false;
  const auto named = run_listeners_from(parsed(message.text));
  if (!named || !are_listeners(*named, message.fds)) {
    (void)send_message(socket, R"({"error": "these are no listening sockets"})");
    return false;
  }
  if (!holds_all(run.welcome.bounds, named->bounds)) {
    (void)send_message(socket, R"({"error": "the policy's limits (sandbox) are not held"})");
    return false;
  }
  if (!record_start(parts_.log, *run.session, *run.config, run.request.command,
                    {run.uid, run.request.workspace}) ||
      !record_held(parts_.log, *run.session, named->bounds)) {
    (void)send_message(socket, R"({"error": "the audit log cannot be written: nothing was run"})");
    return false;
  }
  run.records = records_of(parts_.log, *run.session, RunRecords::Teller::runner);
  parts_.process.serve_sandbox(run.session, listeners_from(*named, std::move(message.fds)));
  // A reload knew nothing of it until now, and one that is to come will.
  if (parts_.config.now() == run.config) return true;
  (void)send_message(socket,
                     R"({"error": "the gateway's configuration has just changed: run it again"})");
  finish(run, socket, std::nullopt);
  return false;
}

void RunService::finish(Run& run, int socket, std::optional<int> exit_code) {
  parts_.process.end_session(*run.session, kEndLimit);
  RunEnd end;
  if (run.session->policy.now()->observes) {
    const std::string line = observed_line(run.session->observed);
    (void)send_message(socket, json::serialize(json::object{{"say", line}}));
  }
  const bool told = run.records->finish();
  const bool ended = record_reached(parts_.log, *run.session, run.bounds) &&
                     record_end(parts_.log, *run.session, exit_code.value_or(kKilled),
                                &*run.records, !exit_code.has_value());
  end.recorded = ended && told && parts_.log.healthy();
  end.denials = run.session->denials.list();
  end.others = run.session->denials.others();
  end.exchanges = run.session->exchanges;
  end.audit_file = parts_.log.file().string();
  (void)send_message(socket, json::serialize(to_json(end)));
}

// Until the run says how it ended, or goes.
void RunService::carry_on(Run& run, int socket) {
  if (!serve(run, socket)) return;
  std::optional<int> exit_code;
  bool there = send_message(socket, R"({"go": true})");
  while (there) {
    std::array<pollfd, 2> waiting{{{socket, POLLIN, 0}, {run.say->wake.get(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), kTickMs) < 0) continue;
    run.records->tick();
    for (const auto& [key, line] : run.say->take())
      there = there && send_message(socket, json::serialize(json::object{{key, line}}));
    if (waiting[0].revents == 0) continue;
    Message message;
    if (!receive_message(socket, message)) break;
    const json::value said = parsed(message.text);
    if (const auto report = run_report_from(said)) {
      if (!take_report(*run.records, *report)) break;
      continue;
    }
    if (const auto published = run_published_from(said)) {
      there = record_published(parts_.log, *run.session, *published);
      continue;
    }
    if (auto exit = run_exit_from(said)) {
      exit_code = exit->code;
      run.bounds = std::move(exit->bounds);
    }
    break;
  }
  finish(run, socket, exit_code);
}

}  // namespace warder
