// The admin socket: HTTP/1.1 over a unix socket, for the gateway's own user and root (by peer credentials). One thread
// per connection: it answers also when the gateway's workers do not.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "base/fd.hpp"

namespace warder {

struct AdminRequest {
  std::string method;
  std::string path;
  std::string upgrade;  // empty: none asked for
  std::string body;     // at most 4 MiB
  // Who asks, by the kernel's word.
  unsigned uid = 0;
  int pid = 0;  // 0: it cannot be seen from here
};

struct AdminReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  // Set, and the client asked for it: 101, then this with the socket, which it may block on until the peer or stop()
  // ends it.
  std::function<void(int socket)> take_over;
};

class AdminServer {
 public:
  static constexpr std::size_t kMostConnections = 1024;
  using Handler = std::function<AdminReply(AdminRequest)>;  // any thread

  // Listens at `path` (0600), in a directory that only this user can enter. A socket that a dead gateway left is
  // replaced; a live one is not. Throws std::runtime_error.
  AdminServer(std::filesystem::path path, Handler handler);
  ~AdminServer();  // stop()
  AdminServer(const AdminServer&) = delete;

  // Shuts every connection down and waits for its thread; takes the socket's file away.
  void stop();

 private:
  struct Client {
    Fd socket;
    std::thread thread;
    bool done = false;
  };
  void accept_loop();
  void serve(Client& client);
  void reap();

  std::filesystem::path path_;
  Handler handler_;
  Fd listener_;
  std::mutex mutex_;
  std::list<Client> clients_;
  bool stopping_ = false;
  std::thread acceptor_;
};

}  // namespace warder
