// Runs one coroutine on a worker's loop and brings its value back.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <future>
#include <optional>

#include "proxy/worker.hpp"

namespace warder::test {

template <class T>
Task<> fulfil(Task<T> task, std::shared_ptr<std::promise<T>> promise) {
  T value = co_await std::move(task);
  promise->set_value(std::move(value));
}

template <class T>
std::future<T> begin_on(Worker& worker, Task<T> task) {
  auto promise = std::make_shared<std::promise<T>>();
  auto held = std::make_shared<Task<>>(fulfil(std::move(task), promise));
  asio::post(worker.loop(), [&worker, held] { worker.spawn(std::move(*held)); });
  return promise->get_future();
}

// Throws what std::future throws when nothing comes within 20 s.
template <class T>
T run_on(Worker& worker, Task<T> task) {
  auto future = begin_on(worker, std::move(task));
  if (future.wait_for(std::chrono::seconds(20)) != std::future_status::ready)
    throw std::runtime_error("the coroutine did not end");
  return future.get();
}

}  // namespace warder::test
