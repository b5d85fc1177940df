#include "sandbox-launcher/view_builder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include "sandbox-launcher/launch_error.hpp"

namespace warder {
namespace {

// bubblewrap takes 9000 words; the rest is for the namespaces and the command's name.
constexpr std::size_t kMostWords = 8500;

}  // namespace

void ViewBuilder::add(std::initializer_list<std::string> words) {
  view_.arguments.insert(view_.arguments.end(), words);
}

void ViewBuilder::bind(const Path& source, const Path& at) { add({"--bind", source, at}); }

void ViewBuilder::bind_read_only(const Path& source, const Path& at) {
  add({"--ro-bind", source, at});
}

void ViewBuilder::symlink(const Path& target, const Path& at) { add({"--symlink", target, at}); }

void ViewBuilder::directory(const Path& at) { add({"--perms", "0755", "--dir", at}); }

void ViewBuilder::tmpfs(const Path& at, const char* octal_mode) {
  add({"--perms", octal_mode, "--tmpfs", at});
}

void ViewBuilder::remount_read_only(const Path& at) { add({"--remount-ro", at}); }

void ViewBuilder::option(const char* name, const Path& at) { add({name, at}); }

void ViewBuilder::constant(std::string_view text, const Path& at) {
  add({"--perms", "0444", "--ro-bind-data", memory_file(text), at});
}

void ViewBuilder::write(std::string_view text, const Path& at) {
  add({"--perms", "0444", "--file", memory_file(text), at});
}

void ViewBuilder::copy(const Path& source, const Path& at) {
  constexpr std::size_t kMostCopies = 400;  // each holds a descriptor
  constexpr off_t kLargestCopy = 1 << 20;
  constexpr mode_t kExecutable = 0111;
  if (copies_ >= kMostCopies) return add({"--ro-bind-try", source, at});
  Fd file(::open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat what{};
  if (!file || ::fstat(file.get(), &what) != 0 || !S_ISREG(what.st_mode)) return;
  if (what.st_size > kLargestCopy) return bind_read_only(source, at);
  ++copies_;
  add({"--perms", what.st_mode & kExecutable ? "0555" : "0444", "--file",
       std::to_string(file.get()), at});
  view_.data.push_back(std::move(file));
}

void ViewBuilder::initial(std::string_view text, const Path& at) {
  add({"--perms", "0644", "--file", memory_file(text), at});
}

// A device on a mount without devices: opening it is refused to everybody, it needs no descriptor of its own, and git
// overlooks it where a plain empty file would show up as a new one.
void ViewBuilder::hide_file(const Path& at) { bind_read_only("/dev/null", at); }

void ViewBuilder::hide_directory(const Path& at) {
  tmpfs(at, "0755");
  remount_read_only(at);
}

std::string ViewBuilder::memory_file(std::string_view text) {
  Fd file(::memfd_create("warder-view", MFD_CLOEXEC));
  if (!file) throw memory_file_error("make a memory file for the file view");
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0) throw launch_error("write a memory file for the file view");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) throw launch_error("rewind a memory file");
  view_.data.push_back(std::move(file));
  return std::to_string(view_.data.back().get());
}

View ViewBuilder::take() {
  if (view_.arguments.size() > kMostWords) {
    throw LaunchError("the file view needs " + std::to_string(view_.arguments.size()) +
                          " options and bubblewrap takes " + std::to_string(kMostWords) +
                          ". Give fewer --ro and --rw, or a workspace with fewer sockets in it",
                      2);
  }
  return std::move(view_);
}

}  // namespace warder
