#include "proxy/acceptor.hpp"

#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace warder {
namespace {

tcp::acceptor acceptor_of(Worker& worker, Fd socket) {
  int domain = AF_INET;
  socklen_t size = sizeof domain;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size);
  tcp::acceptor acceptor(worker.loop());
  error_code ignored;
  acceptor.assign(domain == AF_INET6 ? tcp::v6() : tcp::v4(), socket.release(), ignored);
  return acceptor;
}

class Listener final : public Swept {
 public:
  // Enlisted when it is whole: a worker that is stopping closes it at once.
  Listener(Worker& worker, Fd socket, Session& session)
      : worker_(worker),
        session_(session),
        acceptor_(acceptor_of(worker, std::move(socket))),
        place_(worker.enlist(*this)) {}
  ~Listener() override { worker_.delist(place_); }
  Listener(const Listener&) = delete;
  void on_sweep(SteadyTime now) override {
    session_.end_when_due(now);
    if (session_.life != Life::open) close();
  }
  void close() override {
    error_code ignored;
    acceptor_.close(ignored);
  }
  tcp::acceptor& acceptor() { return acceptor_; }

 private:
  Worker& worker_;
  Session& session_;
  tcp::acceptor acceptor_;
  Worker::Place place_;
};

Task<> breathe(Worker& worker) {
  asio::steady_timer pause(worker.loop(), std::chrono::milliseconds(50));
  (void)co_await pause.async_wait(as_result);
}

}  // namespace

Task<> accept_on(Worker& home, Fd socket, std::vector<std::unique_ptr<Worker>>& workers,
                 std::shared_ptr<Session> session, const Gateway& gateway, Serve serve) {
  const Session::Counted counted(session->listening);
  Listener listener(home, std::move(socket), *session);
  for (std::size_t next = 0;; ++next) {
    while (session->connections >= gateway.most_connections() && listener.acceptor().is_open())
      co_await breathe(home);
    Worker& worker = *workers[next % workers.size()];
    auto [error, accepted] = co_await listener.acceptor().async_accept(worker.loop(), as_result);
    if (!listener.acceptor().is_open()) co_return;
    if (error) {
      // Typically EMFILE: what is open must close first; spinning would not help.
      co_await breathe(home);
      continue;
    }
    auto arrived = std::make_shared<tcp::socket>(std::move(accepted));
    asio::post(worker.loop(),
               [&worker, serve, arrived] { worker.spawn(serve(worker, std::move(*arrived))); });
  }
}

}  // namespace warder
