// What a client of a listener needs to know, as files beside the admin socket: the CA, the merged bundle, and for each
// listener its variables.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "certs/authority.hpp"
#include "config/config.hpp"

namespace warder {

// Removed with this object.
class ClientFiles {
 public:
  // Makes `directory` (0700) when it is missing. One that is there must be this user's own, closed to others, and no
  // other gateway's. Throws ConfigError, std::system_error.
  ClientFiles(std::filesystem::path directory, const CertificateAuthority& authority);
  ~ClientFiles();
  ClientFiles(const ClientFiles&) = delete;

  // NAME=value lines (LISTENER.env): placeholders, proxy and trust variables. The token is never written: the client's
  // own TOKEN belongs where the lines say so.
  void write(const ListenerConfig& listener,
             const std::map<std::string, std::string>& placeholders);

 private:
  std::filesystem::path write_file(const std::string& name, const std::string& text);

  std::filesystem::path directory_;
  Fd lock_;  // the directory itself, locked while this gateway lives
  std::vector<std::filesystem::path> files_;
};

}  // namespace warder
