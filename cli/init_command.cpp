#include "cli/init_command.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string_view>
#include <system_error>

#include "base/fd.hpp"
#include "config/starter.hpp"

namespace warder {
namespace {

// errno of what failed, 0 when all is written.
int write_new(const std::filesystem::path& file, std::string_view text) {
  // Exclusive: nothing that is there is followed or overwritten.
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd) return errno;
  while (!text.empty()) {
    const ssize_t n = ::write(fd.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace

int init_command(const InitArgs& args) {
  const std::filesystem::path file = args.directory / "warder.yaml";
  const int error = write_new(file, starter_yaml(args.directory));
  if (error == EEXIST) {
    std::cerr << "warder: " << file.string()
              << " is there already and is not overwritten: edit it, or remove it first\n";
    return 2;
  }
  if (error != 0) {
    std::cerr << "warder: " << file.string()
              << " cannot be written: " << std::generic_category().message(error) << '\n';
    return 2;
  }
  std::cout << "Wrote " << file.string() << ". Next:\n"
            << "  1. read it, and change what does not fit\n"
            << "  2. warder trust          shows how it is understood, and pins it\n"
            << "  3. warder run -- CMD     starts CMD with it\n";
  return 0;
}

}  // namespace warder
