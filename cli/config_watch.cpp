#include "cli/config_watch.hpp"

#include <condition_variable>
#include <mutex>

namespace warder {

ConfigWatch::ConfigWatch(std::filesystem::path file, const FileStamp& as_read,
                         std::function<void()> changed)
    : file_(std::move(file)),
      changed_(std::move(changed)),
      thread_([this, as_read](const std::stop_token& stop) { watch(stop, as_read); }) {}

ConfigWatch::~ConfigWatch() {
  thread_.request_stop();
  thread_.join();
}

void ConfigWatch::watch(const std::stop_token& stop, FileStamp taken) const {
  std::mutex mutex;
  std::condition_variable_any until;
  FileStamp seen = taken;
  for (;;) {
    std::unique_lock lock(mutex);
    until.wait_for(lock, stop, kLook, [] { return false; });
    if (stop.stop_requested()) return;
    const FileStamp now = FileStamp::of(file_);
    const bool is_still = now == seen;
    seen = now;
    if (!is_still || now == taken) continue;
    taken = now;
    changed_();
  }
}

}  // namespace warder
