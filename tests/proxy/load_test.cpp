// Many requests, many connections, and an end in the middle of them.
#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

const std::string kGet = "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n";

bool is_ok(Wire& client) { return client.send(kGet) && client.read_message().body == "x"; }

}  // namespace

TEST_CASE("BR-139 five hundred connections, one after another, leave nothing behind") {
  TestGateway warder(2);
  Origin origin(answers(ok("x")), warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  CHECK(is_ok(*warder.tls()));
  CHECK(within(milliseconds(5000), [&] { return warder.session->connections == 0; }));
  const std::size_t before = open_fds();
  int good = 0;
  for (int i = 0; i < 500; ++i) good += is_ok(*warder.tls()) ? 1 : 0;
  CHECK(good == 500);
  CHECK(within(milliseconds(5000), [&] { return warder.session->connections == 0; }));
  CHECK(within(milliseconds(5000), [&] { return open_fds() <= before + 5; }));
  warder.stop();
  CHECK(warder.log->receipts().size() == 501);
}

TEST_CASE("BR-139 fifty clients at once, twenty requests each") {
  TestGateway warder(2);
  warder.upstream.pool.idle = milliseconds(100);
  Origin origin(answers(ok("x")), warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  CHECK(is_ok(*warder.tls()));
  const std::size_t before = open_fds();
  std::atomic<int> good{0};
  std::vector<std::unique_ptr<Wire>> clients;
  for (int i = 0; i < 50; ++i) clients.push_back(warder.tls());
  std::vector<std::thread> threads;
  for (auto& client : clients) {
    threads.emplace_back([&good, &client] {
      for (int i = 0; i < 20; ++i) good += is_ok(*client) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 1000);
  clients.clear();
  CHECK(within(milliseconds(5000), [&] { return open_fds() <= before + 5; }));
  CHECK(origin.connections() <= 101);
}

TEST_CASE("BR-022 many small uploads with Expect over one connection") {
  Origin origin([](Wire& wire, std::size_t) {
    for (;;) {
      const Message head = wire.read_message(Wire::Body::none);
      if (!head.whole) return;
      wire.send("HTTP/1.1 100 Continue\r\n\r\n");
      wire.send(ok(std::to_string(wire.read_exactly(20'480).size())));
    }
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  const std::string body(20'480, 'u');
  int good = 0;
  for (int i = 0; i < 300; ++i) {
    client->send(
        "PUT /o HTTP/1.1\r\nHost: api.test\r\nExpect: 100-continue\r\nContent-Length: "
        "20480\r\n\r\n");
    if (client->read_message(Wire::Body::none).status() != 100) break;
    client->send(body);
    good += client->read_message().body == "20480" ? 1 : 0;
  }
  CHECK(good == 300);
  CHECK(origin.connections() == 1);
}

TEST_CASE("stop in the middle of transfers ends at once and leaves a receipt for each") {
  TestGateway warder(2);
  Origin origin(
      [](Wire& wire, std::size_t) {
        const Message request = wire.read_message(Wire::Body::none);
        if (request.has("/silent")) {
          wire.read_to_end();
          return;
        }
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while (wire.send("5\r\nhello\r\n")) pause(milliseconds(5));
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  std::vector<std::unique_ptr<Wire>> clients;
  for (int i = 0; i < 12; ++i) {
    clients.push_back(warder.tls());
    const std::string path = i % 3 == 0 ? "/silent" : "/stream";
    if (i % 2 == 0)
      clients.back()->send("GET " + path + " HTTP/1.1\r\nHost: api.test\r\n\r\n");
    else
      clients.back()->send("POST " + path +
                           " HTTP/1.1\r\nHost: api.test\r\nContent-Length: 9999\r\n\r\nbegin");
  }
  clients.push_back(warder.tls());                                            // says nothing
  clients.push_back(Wire::connect(warder.open(arrival(Scheme::https, ""))));  // not even TLS
  CHECK(within(milliseconds(5000), [&] { return origin.connections() == 12; }));
  pause(milliseconds(200));
  const auto began = std::chrono::steady_clock::now();
  warder.stop();
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::milliseconds(1500));
  CHECK(warder.log->receipts().size() == 12);
  for (auto& client : clients) {
    client->read_to_end();
    CHECK(client->got().find("\r\n0\r\n") == std::string::npos);
  }
}

TEST_CASE("an answer that only its end delimits is broken off by a stop, not ended") {
  for (const auto grace : {milliseconds(2000), milliseconds(0)}) {
    TestGateway warder;
    warder.secret = "";  // nothing is held back
    Origin origin([](Wire& wire, std::size_t) {
      wire.read_message();
      wire.send("HTTP/1.1 200 OK\r\n\r\nbegin");
      wire.read_to_end();
    });
    warder.route("api.test", Scheme::http, origin);
    auto client = warder.plain();
    client->send("GET / HTTP/1.0\r\nHost: api.test\r\n\r\n");
    CHECK(client->read_message().status() == 200);
    CHECK(client->read_exactly(5) == "begin");
    warder.workers[0]->stop(grace);
    warder.workers.clear();
    client->read_to_end();
    CHECK(client->ending() == Ending::reset);
    CHECK(warder.log->receipts().size() == 1);
  }
}

TEST_CASE("a worker that is destroyed under running exchanges destroys them whole") {
  TestGateway warder;
  warder.checks_records = false;
  Origin origin([](Wire& wire, std::size_t) { wire.read_to_end(); });
  warder.route("api.test", Scheme::http, origin);
  std::vector<std::unique_ptr<Wire>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(warder.plain());
    clients.back()->send(
        i % 2 == 0 ? kGet
                   : "POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 99999999\r\n\r\nbegin");
  }
  CHECK(within(milliseconds(5000), [&] { return origin.connections() == 6; }));
  warder.workers[0]->stop(milliseconds(0));  // no time to end anything
  warder.workers.clear();
  CHECK(warder.session->connections == 0);
  CHECK(warder.log->receipts().size() == 6);
}

TEST_CASE("a log that answers when the worker is gone finds nobody, and nothing breaks") {
  TestGateway warder;
  warder.checks_records = false;
  Origin origin(answers(ok("x")));
  warder.route("api.test", Scheme::http, origin);
  warder.log->keeps_silent = true;
  auto client = warder.plain();
  client->send(kGet);
  REQUIRE(within(milliseconds(5000), [&] { return warder.log->waiting() == 1; }));
  warder.workers[0]->stop(milliseconds(0));
  warder.workers.clear();
  CHECK(warder.session->connections == 0);
  warder.log->release();
  CHECK(origin.connections() == 0);
}

TEST_CASE("what comes to a worker that is stopping is closed") {
  Worker worker;
  worker.start();
  Listening made = listen_on_loopback();
  auto client = Wire::connect(made.port);
  Fd accepted(::accept(made.socket.get(), nullptr, nullptr));
  std::atomic<bool> open{true};
  std::atomic<bool> done{false};
  struct Late {
    static Task<> run(Worker& on, Fd socket, std::atomic<bool>& open_now,
                      std::atomic<bool>& ended) {
      asio::steady_timer timer(on.loop(), std::chrono::milliseconds(200));
      (void)co_await timer.async_wait(as_result);
      tcp::socket late(on.loop());
      late.assign(tcp::v4(), socket.release());
      Stream stream(on, std::move(late));
      open_now = stream.is_open();
      char byte = 0;
      const std::span<char> one(&byte, 1);
      auto read = co_await stream.read_some(one);
      CHECK(read.error() == IoError::closed);
      ended = true;
    }
  };
  auto task = std::make_shared<Task<>>(Late::run(worker, std::move(accepted), open, done));
  asio::post(worker.loop(), [&worker, task] { worker.spawn(std::move(*task)); });
  pause(milliseconds(50));
  worker.stop(milliseconds(2000));
  CHECK(done);
  CHECK_FALSE(open);
}
