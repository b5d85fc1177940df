// What the audit tests share: a directory, a clock, a file that fails on request, records.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "audit/file.hpp"
#include "audit/key_file.hpp"
#include "audit/log.hpp"
#include "audit/recover.hpp"
#include "audit/verify.hpp"
#include "audit/writer.hpp"
#include "tests/support/catch.hpp"

namespace warder::audit::test {

namespace fs = std::filesystem;

class TempDir {
 public:
  explicit TempDir(const fs::path& parent = fs::temp_directory_path()) {
    std::string name = (parent / "warder-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// 2026-11-29T12:00:00Z, and 5 s after boot, until somebody moves it.
class TestClock final : public Clock {
 public:
  std::chrono::system_clock::time_point now() const override {
    return std::chrono::system_clock::time_point(std::chrono::microseconds(1'795'953'600'000'000) +
                                                 passed());
  }
  std::chrono::nanoseconds monotonic() const override { return std::chrono::seconds(5) + passed(); }
  void advance(std::chrono::milliseconds by) { passed_ += by.count(); }

 private:
  std::chrono::milliseconds passed() const { return std::chrono::milliseconds(passed_.load()); }
  std::atomic<std::int64_t> passed_{0};
};

// For tests that make thousands of files: memory, where there is such a place.
inline fs::path quick_directory() {
  return ::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path();
}

inline std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void write_file(const fs::path& file, std::string_view text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

inline LogOptions options_in(const TempDir& dir, const std::string& name = "a.jsonl") {
  return {dir / name, dir / "audit.key", "gw1"};
}

inline Intent intent(std::uint64_t exchange, const std::string& path = "/v1/items") {
  Intent record;
  record.session = "s1";
  record.exchange = exchange;
  record.ingress = "transparent";
  record.protocol = "http/1.1";
  record.method = "GET";
  record.authority = "https://api.test";
  record.path = path;
  record.decision = "allow";
  record.rule = "items";
  record.uses = {{"github", 1, "header:authorization"}};
  return record;
}

inline Receipt receipt(std::uint64_t exchange, std::uint64_t intent_seq) {
  Receipt record;
  record.session = "s1";
  record.exchange = exchange;
  record.intent_seq = intent_seq;
  record.upstream = "127.0.0.1:8443";
  record.tls = "TLSv1.3 TLS_AES_256_GCM_SHA384";
  record.status = 200;
  record.bytes_down = 42;
  record.total = std::chrono::microseconds(1500);
  return record;
}

struct Answer {
  bool ok = false;
  std::uint64_t seq = 0;
};

inline Answer append(Log& log, Record record, Durability durability = Durability::durable,
                     unsigned reserve = 0) {
  auto promise = std::make_shared<std::promise<Answer>>();
  auto answer = promise->get_future();
  log.append(std::move(record), durability, reserve,
             [promise](bool ok, std::uint64_t seq) { promise->set_value({ok, seq}); });
  REQUIRE(answer.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  return answer.get();
}

// An allowed exchange from intent to receipt.
inline bool exchange(Log& log, std::uint64_t number) {
  const Answer answer = append(log, intent(number), Durability::durable, 1);
  return answer.ok && log.append_receipt(receipt(number, answer.seq));
}

inline Verification verify_with_key(const fs::path& file, const fs::path& key_file,
                                    std::vector<fs::path> anchors = {}) {
  VerifyOptions options;
  options.file = file;
  options.vkey = verifier_key(key_file);
  options.anchors = std::move(anchors);
  return verify(options);
}

template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// What a disk can do to a writer.
struct Faults {
  std::atomic<int> write_errno{0};
  std::atomic<int> sync_errno{0};
  std::atomic<std::uint64_t> allocate_up_to{UINT64_MAX};  // ENOSPC beyond
  std::atomic<std::uint64_t> write_up_to{UINT64_MAX};     // ENOSPC beyond, after a short write
  std::atomic<std::size_t> most_per_write{SIZE_MAX};
  std::atomic<bool> dead{false};  // power is gone
  std::atomic<std::uint64_t> synced{0};
  std::atomic<unsigned> syncs{0};
};

class FaultyFile final : public File {
 public:
  FaultyFile(std::unique_ptr<File> file, std::shared_ptr<Faults> faults)
      : file_(std::move(file)), faults_(std::move(faults)) {}

  Result<std::size_t> write(std::string_view bytes) override {
    if (const int error = faults_->dead ? EIO : faults_->write_errno.load()) return failed(error);
    const std::uint64_t end = faults_->write_up_to;
    const std::uint64_t size = file_->state()->size;
    if (size >= end) return failed(ENOSPC);
    const std::size_t most = std::min<std::uint64_t>(faults_->most_per_write, end - size);
    return file_->write(bytes.substr(0, most));
  }
  Result<> sync() override {
    ++faults_->syncs;
    if (const int error = faults_->dead ? EIO : faults_->sync_errno.load()) return failed(error);
    faults_->synced = file_->state()->size;
    return {};
  }
  Result<> allocate(std::uint64_t end) override {
    if (end > faults_->allocate_up_to) return failed(ENOSPC);
    return {};
  }
  Result<> truncate(std::uint64_t size) override {
    if (faults_->dead) return failed(EIO);
    return file_->truncate(size);
  }
  Result<FileState> state() override { return file_->state(); }

 private:
  static error_code failed(int error) { return {error, boost::system::system_category()}; }

  std::unique_ptr<File> file_;
  std::shared_ptr<Faults> faults_;
};

// A new log on such a file.
inline std::unique_ptr<Log> open_faulty(const LogOptions& options, std::shared_ptr<Faults> faults,
                                        const Clock& clock) {
  SigningKey key = read_or_make_key(options.key_file);
  Fd fd(::open(options.file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  REQUIRE(fd);
  WriterStart start;
  start.path = options.file;
  start.origin = "warder/audit/" + options.gateway;
  start.bodies = {body_of(LogHeader{start.origin, options.gateway, key.verifier().text(), ""})};
  auto file = std::make_unique<FaultyFile>(posix_file(std::move(fd)), std::move(faults));
  return std::make_unique<Writer>(std::move(file), std::move(key), std::move(start), clock);
}

}  // namespace warder::audit::test
