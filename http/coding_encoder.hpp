// Applies content codings to a stream, cheaply: what leaves was small enough before, and must leave soon.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/coding.hpp"

namespace warder {

// One gzip member, deflate in its zlib frame, one br stream, one zstd frame.
class Encoder {
 public:
  explicit Encoder(const std::vector<Coding>& codings);  // in the order in which they are applied
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // Each appends to `out` what is ready; pieces of some 16 KiB keep that small.
  void write(std::string_view in, std::string& out) { run(0, in, Op::write, out); }
  // All that was written can be decoded from what is out then.
  void flush(std::string& out) { run(0, {}, Op::flush, out); }
  // The end. Nothing may be written after it.
  void finish(std::string& out) { run(0, {}, Op::finish, out); }

  enum class Op : std::uint8_t { write, flush, finish };
  class Stage;

 private:
  void run(std::size_t index, std::string_view in, Op op, std::string& out);

  std::vector<std::unique_ptr<Stage>> stages_;
};

}  // namespace warder
