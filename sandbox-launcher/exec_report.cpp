#include "sandbox-launcher/exec_report.hpp"

#include <concepts>
#include <cstring>

namespace warder {
namespace {

enum class Kind : std::uint8_t { begun = 1, ended = 2, done = 3 };

class Writing {
 public:
  explicit Writing(Kind kind) { number(static_cast<std::uint8_t>(kind)); }
  Writing& number(std::integral auto value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writing& text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    out_.append(value);
    return *this;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Once something was wrong, everything after it is, too.
class Reading {
 public:
  explicit Reading(std::string_view in) : in_(in) {}
  template <std::integral Number>
  void number(Number& into) {
    if (in_.size() < sizeof into) return fail();
    std::memcpy(&into, in_.data(), sizeof into);
    in_.remove_prefix(sizeof into);
  }
  void text(std::string& into, std::size_t most) {
    std::uint32_t size = 0;
    number(size);
    if (size > most || size > in_.size()) return fail();
    into = in_.substr(0, size);
    in_.remove_prefix(size);
  }
  bool whole() const { return good_ && in_.empty(); }
  bool good() const { return good_; }
  void fail() {
    good_ = false;
    in_ = {};
  }

 private:
  std::string_view in_;
  bool good_ = true;
};

void write_begun(Writing& out, const ExecBegun& begun) {
  out.number(begun.exec).number(begun.pid).number(begun.parent);
  out.number(begun.left_out).number(static_cast<std::uint8_t>(begun.unread));
  out.text(begun.path).text(begun.cwd);
  out.number(static_cast<std::uint32_t>(begun.argv.size()));
  for (const std::string& each : begun.argv) out.text(each);
}

ExecBegun read_begun(Reading& in) {
  ExecBegun begun;
  in.number(begun.exec);
  in.number(begun.pid);
  in.number(begun.parent);
  in.number(begun.left_out);
  std::uint8_t unread = 0;
  in.number(unread);
  if (unread > 1) in.fail();
  begun.unread = unread == 1;
  in.text(begun.path, kMostPathBytes);
  in.text(begun.cwd, kMostPathBytes);
  std::uint32_t count = 0;
  in.number(count);
  if (count > kMostArguments) in.fail();
  std::size_t total = 0;
  for (std::uint32_t i = 0; i < count && in.good(); ++i) {
    in.text(begun.argv.emplace_back(), kMostArgumentBytes);
    total += begun.argv.back().size();
  }
  if (total > kMostCommandBytes) in.fail();
  return begun;
}

}  // namespace

std::string encode(const ExecReport& report) {
  if (const auto* begun = std::get_if<ExecBegun>(&report)) {
    Writing out(Kind::begun);
    write_begun(out, *begun);
    return out.take();
  }
  if (const auto* ended = std::get_if<ExecEnded>(&report)) {
    Writing out(Kind::ended);
    out.number(ended->exec).number(ended->pid).number(ended->exit_code).number(ended->signal);
    return out.take();
  }
  const auto& done = std::get<ExecsDone>(report);
  Writing out(Kind::done);
  out.number(done.execs).number(done.missing).number(done.exit_code).number(done.signal);
  return out.take();
}

std::optional<ExecReport> decode_exec_report(std::string_view packet) {
  if (packet.empty() || packet.size() > kMostPacketBytes) return std::nullopt;
  Reading in(packet.substr(1));
  ExecReport report;
  switch (static_cast<Kind>(packet.front())) {
    case Kind::begun: report = read_begun(in); break;
    case Kind::ended: {
      ExecEnded ended;
      in.number(ended.exec);
      in.number(ended.pid);
      in.number(ended.exit_code);
      in.number(ended.signal);
      report = ended;
      break;
    }
    case Kind::done: {
      ExecsDone done;
      in.number(done.execs);
      in.number(done.missing);
      in.number(done.exit_code);
      in.number(done.signal);
      report = done;
      break;
    }
    default: return std::nullopt;
  }
  return in.whole() ? std::optional(std::move(report)) : std::nullopt;
}

}  // namespace warder
