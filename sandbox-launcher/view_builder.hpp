// Writes bubblewrap's file options in order, and the texts that they name into memory files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sandbox-launcher/view.hpp"

namespace warder {

class ViewBuilder {
 public:
  using Path = std::filesystem::path;

  void bind(const Path& source, const Path& at);
  void bind_read_only(const Path& source, const Path& at);
  void symlink(const Path& target, const Path& at);
  void directory(const Path& at);
  void tmpfs(const Path& at, const char* octal_mode);
  void remount_read_only(const Path& at);
  void option(const char* name, const Path& at);  // --proc, --dev

  // A file that nobody inside can change, also on top of what is bound.
  void constant(std::string_view text, const Path& at);
  // The same in a directory of the view's own, which is read-only in the end: without a mount, each of which costs.
  void write(std::string_view text, const Path& at);
  // As the host's is now, there. Nothing when it is gone, as the temporary names of passwd(5) may be.
  void copy(const Path& source, const Path& at);
  // A file that the workload may replace; only below a tmpfs.
  void initial(std::string_view text, const Path& at);

  // What is at `at` stays there and cannot be seen. `at` must exist already.
  void hide_file(const Path& at);
  void hide_directory(const Path& at);

  // Throws LaunchError when bubblewrap would refuse that many.
  View take();

 private:
  void add(std::initializer_list<std::string> words);
  std::string memory_file(std::string_view text);
  View view_;
  std::size_t copies_ = 0;
};

}  // namespace warder
