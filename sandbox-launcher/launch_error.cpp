#include "sandbox-launcher/launch_error.hpp"

#include <cerrno>
#include <cstring>

namespace warder {

LaunchError launch_error(const std::string& step, const std::string& remedy) {
  const int error = errno;
  std::string message = "cannot " + step + ": " + std::strerror(error);
  if (!remedy.empty()) message += ". " + remedy;
  LaunchError out(message);
  out.error = error;
  return out;
}

LaunchError launch_error(const std::string& step, Cause cause) {
  const int error = errno;
  LaunchError out = launch_error(step, hint(cause));
  out.cause = cause;
  out.failure = "cannot " + step + ": " + std::strerror(error);
  return out;
}

LaunchError memory_file_error(const std::string& step) {
  return errno == EACCES ? launch_error(step, Cause::memfd_noexec) : launch_error(step);
}

}  // namespace warder
