// The address of a unix socket, also where its path is longer than such an address: then by way of its directory.
#pragma once

#include <sys/un.h>

#include <filesystem>

#include "base/fd.hpp"

namespace warder {

class SocketPath {
 public:
  // Throws std::runtime_error when the directory of a long path cannot be opened.
  explicit SocketPath(const std::filesystem::path& path);
  // Good as long as this object is.
  const sockaddr_un& address() const { return address_; }

 private:
  Fd directory_;
  sockaddr_un address_{};
};

}  // namespace warder
