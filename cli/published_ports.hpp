// `--publish`: ports of this machine that lead to a service in the sandbox, for as long as the run lasts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "proxy/publish.hpp"
#include "sandbox-launcher/inside_sockets.hpp"

namespace warder {

// [ADDR:]HOSTPORT[:PORT]; HOSTPORT 0 means a free one. Throws ConfigError.
PublishedPort parse_publish(const std::string& text);

class PublishedPorts {
 public:
  // Listens, before anything is started. Throws ConfigError: a port is taken, an address is not this host's.
  explicit PublishedPorts(const std::vector<std::string>& flags);

  bool empty() const { return bound_.empty(); }
  // What the person is told: where each leads, and which can be reached from elsewhere.
  std::vector<std::string> lines() const;
  // Takes connections from here on, into the network of the sandbox that stands. `recorder` outlives this or close().
  // Throws RunRefused.
  void open(pid_t sandbox, PublishRecorder& recorder);
  // Ends them all, each with its record.
  void close();

 private:
  struct Bound {
    PublishedPort port;
    Fd listener;
    Fd claim;
    bool is_local = true;
  };
  std::vector<Bound> bound_;
  std::unique_ptr<InsideSockets> inside_;
  std::unique_ptr<Publisher> publisher_;
};

}  // namespace warder
