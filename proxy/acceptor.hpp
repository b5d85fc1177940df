// Accepts on a listener that was handed over, and gives each connection to a worker.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/fd.hpp"
#include "proxy/gateway.hpp"
#include "proxy/session.hpp"
#include "proxy/worker.hpp"

namespace warder {

// What happens to an accepted connection, on its worker.
using Serve = std::function<Task<>(Worker& worker, tcp::socket socket)>;

// Runs on `home` until Worker::stop. Connections beyond Gateway::most_connections() wait in the kernel's queue.
Task<> accept_on(Worker& home, Fd listener, std::vector<std::unique_ptr<Worker>>& workers,
                 std::shared_ptr<Session> session, const Gateway& gateway, Serve serve);

}  // namespace warder
