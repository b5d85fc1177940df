#include "sandbox-launcher/attempt.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <sstream>

#include "base/fd.hpp"

namespace warder {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongest{10};

// What the kernel answers when it does not know a thing, rather than forbids it.
Outcome outcome_of(int error) {
  for (const int unknown : {0, ENOENT, ENOSYS, EOPNOTSUPP, EPROTONOSUPPORT, ENODEV, EINVAL, ENOTTY,
                            EAFNOSUPPORT, ENOPROTOOPT, EADDRNOTAVAIL}) {
    if (error == unknown) return Outcome::missing;
  }
  return Outcome::refused;
}

// JSON is UTF-8; a path in a message may be none.
std::string printable(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

Attempt run(const std::string& name, const std::function<std::string()>& what) {
  Attempt out{name, Outcome::ok, 0, {}, Cause::unknown, 0};
  try {
    out.said = what();
  } catch (const Missing& error) {
    out = {name, Outcome::missing, error.error, error.failure, error.cause, 0};
  } catch (const LaunchError& error) {
    out = {name, outcome_of(error.error), error.error, error.failure, error.cause, 0};
  } catch (const std::exception& error) {
    out = {name, Outcome::refused, 0, error.what(), Cause::unknown, 0};
  }
  return out;
}

std::string all_of(const Fd& pipe, Clock::time_point until) {
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd ready{pipe.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) return {};
    const ssize_t n = ::read(pipe.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(n));
    if (text.back() == '\n') return text;
  }
}

Attempt from_json(const json::object& from) {
  Attempt out;
  out.name = from.at("name").as_string();
  const auto& outcome = from.at("state").as_string();
  for (const Outcome each : {Outcome::ok, Outcome::missing, Outcome::refused}) {
    if (outcome == to_string(each)) out.outcome = each;
  }
  out.error = static_cast<int>(from.at("error").as_int64());
  out.said = from.at("said").as_string();
  out.cause = cause_named(std::string(from.at("cause").as_string()));
  out.milliseconds = from.at("ms").to_number<double>();
  return out;
}

[[noreturn]] void run_in_child(const std::string& name, const std::function<std::string()>& what,
                               const Fd& say) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  const std::string line = to_line(run(name, what));
  const bool said = ::write(say.get(), line.data(), line.size()) >= 0;
  ::_exit(said ? 0 : 1);
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  constexpr std::array<std::string_view, 3> kWords{"ok", "missing", "refused"};
  return kWords[static_cast<std::size_t>(outcome)];
}

void fail(const std::string& step, Cause why) { throw launch_error(step, why); }

Attempt attempt(const std::string& name, const std::function<std::string()>& what) {
  const auto start = Clock::now();
  Attempt out{name, Outcome::refused, 0, "the try gave no answer", Cause::unknown, 0};
  std::array<int, 2> ends{};
  const pid_t child = ::pipe2(ends.data(), O_CLOEXEC) == 0 ? ::fork() : -1;
  Fd hear(ends[0]);
  Fd say(ends[1]);
  if (child == 0) run_in_child(name, what, say);
  if (child < 0) {
    out.error = errno;
    out.said = std::string("cannot start a process: ") + std::strerror(errno);
    return out;
  }
  ::setpgid(child, child);
  say.reset();
  const std::vector<Attempt> heard = from_lines(all_of(hear, start + kLongest));
  if (!heard.empty()) out = heard.front();
  ::kill(-child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  out.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return out;
}

std::string to_line(const Attempt& attempt) {
  return json::serialize(json::object{{"name", attempt.name},
                                      {"state", to_string(attempt.outcome)},
                                      {"error", attempt.error},
                                      {"said", printable(attempt.said)},
                                      {"cause", remedy(attempt.cause).name},
                                      {"ms", attempt.milliseconds}}) +
         '\n';
}

std::vector<Attempt> from_lines(const std::string& text) {
  json::parse_options bytes;
  bytes.allow_invalid_utf8 = true;
  std::vector<Attempt> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    boost::system::error_code error;
    const json::value parsed = json::parse(line, error, {}, bytes);
    if (error || !parsed.is_object()) continue;
    out.push_back(from_json(parsed.as_object()));
  }
  return out;
}

}  // namespace warder
