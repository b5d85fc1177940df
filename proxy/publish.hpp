// Connections of the host to a service inside a sandbox (`--publish`): accepted here, dialled inside, relayed. Nothing
// of the sandbox's can begin one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/reason.hpp"
#include "proxy/io.hpp"
#include "proxy/worker.hpp"

namespace warder {

inline constexpr const char* kPublishIngress = "publish";  // of its records

struct PublishedPort {
  std::string address;          // of the host, as in a URL
  std::uint16_t host_port = 0;  // that it listens on
  std::uint16_t port = 0;       // of the sandbox's loopback
  std::string flag;             // "--publish 8080:3000"
};

// How one connection ended.
struct PublishedEnd {
  std::string upstream;  // "127.0.0.1:3000"; empty: nobody answered there
  std::uint64_t up = 0;  // bytes into the sandbox
  std::uint64_t down = 0;
  Reason reason = Reason::none;
  std::chrono::microseconds connect{0};
  std::chrono::microseconds total{0};
};

// Who writes it down. On the publisher's thread.
class PublishRecorder {
 public:
  struct Ticket {
    std::uint64_t exchange = 0;
    std::uint64_t intent_seq = 0;
  };
  virtual ~PublishRecorder() = default;
  // nullopt: it cannot be recorded and must not go on.
  virtual Task<std::optional<Ticket>> begin(const PublishedPort& port) = 0;
  virtual void end(const PublishedPort& port, const Ticket& ticket, const PublishedEnd& end) = 0;
};

// A socket of the sandbox's network, not connected, not blocking; empty: none is to be had.
using MakeInside = std::function<Fd(bool ipv6)>;

class Publisher {
 public:
  // Over all published ports of a run; further connections wait in the kernel's queue.
  static constexpr std::uint64_t kMostConnections = 256;

  // Starts a thread of its own.
  Publisher(MakeInside make, PublishRecorder& recorder);
  ~Publisher();  // stop()
  Publisher(const Publisher&) = delete;

  void serve(PublishedPort port, Fd listener);
  // Ends every connection; each leaves its record.
  void stop();

 private:
  Task<> accept(PublishedPort port, Fd listener);
  Task<> relay(std::shared_ptr<const PublishedPort> port, tcp::socket socket);

  MakeInside make_;
  PublishRecorder& recorder_;
  const std::uint64_t most_;  // fewer where this process may open few files
  std::uint64_t open_ = 0;    // on the worker's thread
  Worker worker_;             // last: what runs on it uses the others
};

}  // namespace warder
