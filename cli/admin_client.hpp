// One call to a gateway's admin socket.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.hpp"

namespace warder {

// Throws RunRefused (exit 2): it is not there, or not ours to call.
Fd connect_to_gateway(const std::filesystem::path& socket);

struct AdminAnswer {
  int status = 0;
  std::string body;
};
// `request`: a whole one. The answer's head is read byte by byte: what stands behind a 101 belongs to whoever asked for it.
// Throws RunRefused (exit 125): the gateway has gone.
AdminAnswer call_gateway(int socket, std::string_view request);
// POST, with JSON or nothing.
AdminAnswer post_to_gateway(const std::filesystem::path& socket, std::string_view path,
                            std::string_view body);

// The admin socket of this user's own gateway, where `warder gateway` puts it without --directory.
std::filesystem::path usual_gateway_directory();

}  // namespace warder
