// The words that every coroutine uses: Task, as_result, Error.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <string>

#include "base/result.hpp"

namespace warder {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using SteadyTime = std::chrono::steady_clock::time_point;
using SteadyDuration = std::chrono::steady_clock::duration;

template <class T = void>
using Task = asio::awaitable<T>;
// auto [error, n] = co_await socket.async_…(…, as_result);
inline constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

enum class IoError : int {
  end_of_stream = 1,  // a clean end: FIN, or close_notify under TLS
  truncated,          // TLS ended without close_notify
  reset,              // RST, or any other socket error
  timed_out,
  closed,         // by us
  tls,            // an alert, or bytes that are not TLS
  hello_pending,  // a handshake that waits for our decision on the ClientHello
};
error_code make_error_code(IoError error);

}  // namespace warder

template <>
struct boost::system::is_error_code_enum<warder::IoError> : std::true_type {};
