// Says when the configuration file has become another one: once it looks otherwise, and has looked the same for two looks.
#pragma once

#include <filesystem>
#include <functional>
#include <thread>

#include "secrets/file_stamp.hpp"

namespace warder {

class ConfigWatch {
 public:
  static constexpr std::chrono::milliseconds kLook{250};

  // `as_read`: the file as it was before it was read. `changed` is called on the watch's own thread.
  ConfigWatch(std::filesystem::path file, const FileStamp& as_read, std::function<void()> changed);
  ~ConfigWatch();
  ConfigWatch(const ConfigWatch&) = delete;

 private:
  void watch(const std::stop_token& stop, FileStamp taken) const;

  const std::filesystem::path file_;
  const std::function<void()> changed_;
  std::jthread thread_;
};

}  // namespace warder
