#include "cli/run_records.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "audit/json_text.hpp"
#include "config/trust_store.hpp"

namespace warder {
namespace {

constexpr std::size_t kMostEquals = 1'024;
constexpr std::size_t kChangesOfARecord = 6'900;  // bytes, below what audit/format.cpp gives them
constexpr std::size_t kNameOfAChange = 1'024;

std::string key_of(const audit::Exec& exec) {
  std::string text = exec.path + '\0' + exec.cwd + '\0' + exec.note;
  for (const std::string& each : exec.argv) text += '\0' + each;
  return sha256_hex(text);  // two that are not equal cannot be made to look so
}

std::size_t bytes_of(const audit::Exec& exec) {
  std::size_t sum = exec.path.size() + exec.cwd.size();
  for (const std::string& each : exec.argv) sum += each.size();
  return sum;
}

std::size_t written_size(const audit::FileChanged& change) {
  std::string text;
  audit::append_escaped(text, change.path, kNameOfAChange);
  return text.size() + 40;
}

}  // namespace

struct RunRecords::Unwritten {
  std::mutex mutex;
  std::condition_variable fewer;
  unsigned count = 0;
  std::uint64_t lost = 0;  // since they were last told of
};

RunRecords::RunRecords(audit::Log& log, std::string session, Shown shown, Teller teller)
    : log_(log),
      session_(std::move(session)),
      shown_(std::move(shown)),
      teller_(teller),
      unwritten_(std::make_shared<Unwritten>()) {}

RunRecords::~RunRecords() = default;

std::string RunRecords::told_by() const {
  return teller_ == Teller::launcher ? "launcher" : "runner";
}

bool RunRecords::take(std::string_view packet) {
  const auto report = decode_exec_report(packet);
  if (!report) return false;
  if (const auto* what = std::get_if<ExecBegun>(&*report)) {
    begun(*what);
  } else if (const auto* end = std::get_if<ExecEnded>(&*report)) {
    ended(*end);
  } else {
    const auto& done = std::get<ExecsDone>(*report);
    missing_ = done.missing;
    how_ = done.signal != 0 ? "signal" : "exit";
  }
  return true;
}

void RunRecords::begun(const ExecBegun& what) {
  ++execs_;
  running_.erase(what.pid);
  audit::Exec exec;
  exec.session = session_;
  exec.exec = what.exec;
  exec.pid = what.pid;
  exec.parent = what.parent;
  exec.path = shown_(what.path);
  exec.cwd = shown_(what.cwd);
  for (const std::string& each : what.argv) exec.argv.push_back(shown_(each));
  exec.left_out = what.left_out;
  exec.note = what.unread ? "unread" : "";
  exec.told_by = told_by();
  tick();
  Equal& equal = equals_[key_of(exec)];
  if (equal.alone >= kAlone) {
    ++equal.counted;
    equal.last = std::move(exec);
    return;
  }
  ++equal.alone;
  if (is_over_the_cap(exec)) return;
  running_[what.pid] = what.exec;
  append(std::move(exec));
}

bool RunRecords::is_over_the_cap(const audit::Exec& exec) {
  if (capped_) return true;
  ++records_;
  bytes_ += bytes_of(exec);
  if (records_ <= kMostRecords && bytes_ <= kMostBytes) return false;
  capped_ = true;
  audit::Exec capped;
  capped.session = session_;
  capped.exec = exec.exec;
  capped.note = "capped";
  capped.told_by = told_by();
  append(std::move(capped));
  return true;
}

void RunRecords::ended(const ExecEnded& what) {
  const auto found = running_.find(what.pid);
  if (found == running_.end() || found->second != what.exec) return;
  running_.erase(found);
  append(audit::Exit{session_, what.exec, what.pid, what.exit_code, what.signal, told_by()});
}

void RunRecords::tick() {
  const Time now = std::chrono::steady_clock::now();
  if (now - second_ < std::chrono::seconds(1) && equals_.size() < kMostEquals) return;
  second_ = now;
  record_repeated();
  record_lost();
}

void RunRecords::record_repeated() {
  for (auto& [key, equal] : std::exchange(equals_, {})) {
    if (equal.counted == 0 || is_over_the_cap(equal.last)) continue;
    equal.last.count = equal.counted;
    if (equal.last.note.empty()) equal.last.note = "repeated";
    append(std::move(equal.last));
  }
}

// What the log had no room for, now that it has some again.
void RunRecords::record_lost() {
  audit::Exec lost;
  {
    const std::scoped_lock lock(unwritten_->mutex);
    if (unwritten_->lost == 0 || !log_.healthy()) return;
    lost.count = std::exchange(unwritten_->lost, 0);
  }
  lost.session = session_;
  lost.note = "unrecorded";
  lost.told_by = told_by();
  append(std::move(lost));
}

void RunRecords::append(audit::Record record) {
  {
    std::unique_lock lock(unwritten_->mutex);
    unwritten_->fewer.wait(lock, [&] { return unwritten_->count < kMostUnwritten; });
    ++unwritten_->count;
  }
  std::uint64_t stands_for = 1;
  if (const auto* exec = std::get_if<audit::Exec>(&record)) stands_for = exec->count;
  log_.append(std::move(record), audit::Durability::accepted, 0,
              [state = unwritten_, stands_for](bool ok, std::uint64_t) {
                const std::scoped_lock lock(state->mutex);
                --state->count;
                if (!ok) state->lost += stands_for;
                state->fewer.notify_all();
              });
}

void RunRecords::changed(const FileChanges& what) {
  files_ += what.changes.size() + what.more;
  audit::FilesChanged record;
  std::size_t size = 0;
  const auto write = [&] {
    record.session = session_;
    record.note = what.partial ? "partial" : what.cloned ? "clone" : "";
    record.told_by = told_by();
    append(std::exchange(record, {}));
    size = 0;
  };
  for (const audit::FileChanged& each : what.changes) {
    audit::FileChanged change{shown_(each.path), each.change};
    const std::size_t more = written_size(change);
    if (size + more > kChangesOfARecord) write();
    size += more;
    record.changes.push_back(std::move(change));
  }
  record.git_objects = what.git_objects;
  record.more = what.more;
  write();
}

bool RunRecords::finish() {
  record_repeated();
  const auto wait = [this] {
    std::unique_lock lock(unwritten_->mutex);
    unwritten_->fewer.wait(lock, [&] { return unwritten_->count == 0; });
    return unwritten_->lost == 0;
  };
  if (wait()) return true;
  record_lost();
  return wait();
}

void RunRecords::sum_up(audit::SessionEnd& end) const {
  end.execs = execs_;
  end.missing_execs = missing_;
  end.files = files_;
  end.ended = how_;
}

}  // namespace warder
