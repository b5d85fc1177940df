// Reads an audit file line by line and checks what each line must say given those before it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "audit/format.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace warder::audit {

struct RawLine {
  std::string bytes;  // without newline; cut at kMaxRecordBytes
  std::uint64_t offset = 0;
  bool ended = false;  // a newline followed
  bool too_long = false;
};

class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}  // borrowed; read from its position on
  // nullptr: end of file, or an error. The line stays valid until the next call.
  const RawLine* next();
  error_code error() const { return error_; }

 private:
  bool fill();
  void take(std::string_view piece);

  int fd_;
  std::array<char, 64 * 1024> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t offset_ = 0;
  RawLine line_;
  error_code error_;
};

struct Fault {
  enum class What : std::uint8_t {
    record,    // not a record
    sequence,  // another number than the place asks for
    link,      // `prev` is not the hash of the line before
    signature,
    origin,      // a checkpoint of another log
    size,        // a checkpoint over another number of lines
    root,        // a checkpoint over other lines
    checkpoint,  // the line around the note was changed
  };
  What what = What::record;
  std::uint64_t seq = 0;  // the place
  std::uint64_t offset = 0;
  std::string detail;
};

enum class Signatures : std::uint8_t { every, last };

class Walker {
 public:
  Walker(const VerifierKey& key, Signatures signatures) : key_(key), signatures_(signatures) {}

  std::optional<Fault> feed(const RawLine& raw);
  // With Signatures::last: whether the newest checkpoint is signed by the key (true: there is
  // none).
  bool last_signature_good() const { return !newest_ || newest_->signed_by(key_); }

  const Chain& chain() const { return chain_; }
  const Chain& before() const { return before_; }  // without the last line
  const ParsedLine& line() const { return line_; }
  std::uint64_t line_offset() const { return line_offset_; }
  std::uint64_t last_offset() const { return last_offset_; }  // of the last line that was right
  const std::string& origin() const { return origin_; }
  const std::string& previous() const { return previous_; }
  const std::optional<SignedNote>& newest() const { return newest_; }
  std::uint64_t checkpoints() const { return checkpoints_; }
  bool closed() const { return closed_; }  // the last two lines are a close and its checkpoint

 private:
  std::optional<Fault> check(const RawLine& raw);
  std::optional<Fault> check_header(const RawLine& raw);
  std::optional<Fault> check_checkpoint(const RawLine& raw);
  Fault fault(Fault::What what, const RawLine& raw, std::string detail) const;

  VerifierKey key_;
  Signatures signatures_;
  Chain chain_;
  Chain before_;
  ParsedLine line_;
  std::string type_before_;
  std::uint64_t line_offset_ = 0;
  std::uint64_t last_offset_ = 0;
  std::string origin_;
  std::string previous_;
  std::optional<SignedNote> newest_;
  std::uint64_t checkpoints_ = 0;
  bool closed_ = false;
};

}  // namespace warder::audit
