#include "admin/socket_path.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace warder {

SocketPath::SocketPath(const std::filesystem::path& path) {
  address_.sun_family = AF_UNIX;
  std::string text = path.native();
  if (text.size() >= sizeof address_.sun_path) {
    directory_ = Fd(::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory_)
      throw std::system_error(errno, std::generic_category(), path.parent_path().string());
    text = "/proc/self/fd/" + std::to_string(directory_.get()) + "/" + path.filename().string();
  }
  if (text.size() >= sizeof address_.sun_path)
    throw std::runtime_error(path.string() + " has a name that is too long for a socket");
  std::memcpy(address_.sun_path, text.data(), text.size());
}

}  // namespace warder
