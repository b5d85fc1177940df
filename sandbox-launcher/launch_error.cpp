#include "sandbox-launcher/launch_error.hpp"

#include <cerrno>
#include <cstring>

namespace warder {

LaunchError launch_error(const std::string& step, const std::string& remedy) {
  std::string message = "cannot " + step + ": " + std::strerror(errno);
  if (!remedy.empty()) message += ". " + remedy;
  return LaunchError(message);
}

}  // namespace warder
