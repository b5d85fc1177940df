// The bytes of one leg that were read and not yet used. Holds no memory while there are none.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "proxy/stream.hpp"

namespace warder {

class Input {
 public:
  static constexpr std::size_t kBytes = 16 * 1024;  // one TLS record

  std::string_view view() const { return {buffer_.get() + begin_, end_ - begin_}; }
  // `rest` is what a parser left of view().
  void keep(std::string_view rest) { begin_ = end_ - rest.size(); }
  bool empty() const { return begin_ == end_; }

  // Reads more behind what is there. Views from before are void. Between two fast peers it lets the worker's other
  // connections have their turn.
  Task<Result<>> fill(Stream& from);

 private:
  static constexpr unsigned kReadsInARow = 32;

  std::unique_ptr<char[]> buffer_;
  unsigned reads_in_a_row_ = 0;  // without waiting
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace warder
