// One request over an admin socket.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace warder {

struct AdminAnswer {
  int status = 0;  // 0: nobody listens there any more
  std::string body;
};

// Does anybody listen there, whether or not they answer? Never waits.
bool listens(const std::filesystem::path& socket);

// Throws std::runtime_error when the gateway is there and says nothing for so long.
AdminAnswer ask_admin(const std::filesystem::path& socket, const std::string& method,
                      const std::string& target, const std::string& body = "",
                      std::chrono::seconds patience = std::chrono::seconds(30));

}  // namespace warder
