#include "proxy/input.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cstring>

namespace warder {

Task<Result<>> Input::fill(Stream& from) {
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kBytes);
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == kBytes) co_return error_code(asio::error::no_buffer_space);
  if (++reads_in_a_row_ >= kReadsInARow) {
    reads_in_a_row_ = 0;
    co_await asio::post(from.worker().loop(), asio::use_awaitable);
  }
  for (;;) {
    const int n = from.try_read({buffer_.get() + end_, kBytes - end_});
    if (n > 0) {
      end_ += static_cast<std::size_t>(n);
      co_return Result<>();
    }
    if (n == Stream::kEnded) co_return from.read_error();
    reads_in_a_row_ = 0;
    // An idle connection should cost its socket, not a buffer.
    if (end_ == 0) buffer_.reset();
    auto ready = co_await from.wait_to_read(n);
    if (!ready) co_return ready.error();
    if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kBytes);
  }
}

}  // namespace warder
