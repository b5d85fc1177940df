// The bytes of an audit file, as FORMAT.md describes them; writer, reader and verifier share this.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "audit/chain.hpp"
#include "audit/note.hpp"
#include "audit/record.hpp"

namespace warder::audit {

inline constexpr int kFormatVersion = 1;
inline constexpr std::size_t kMaxRecordBytes = 8192;   // any line with its newline
inline constexpr std::size_t kMaxReceiptBytes = 2048;  // a receipt's: what a reservation sets aside
inline constexpr std::uint64_t kCheckpointEvery = 4096;  // records
inline constexpr std::chrono::seconds kCheckpointInterval{1};

// When a record was stamped.
struct Stamp {
  std::string time;  // RFC 3339, UTC, microseconds
  std::uint64_t mono_ns = 0;
  bool operator==(const Stamp&) const = default;
};

// Records that the log writes about itself.
struct LogHeader {
  std::string origin;  // the first line of its checkpoints
  std::string gateway;
  std::string key;       // verifier key; information only: a verifier never trusts it
  std::string previous;  // "<file> <size> <root>" of the newest other file; empty: none
};
struct Resume {
  std::string gateway;
  bool clean = false;  // the run before closed the log
};
struct Repair {
  std::string file;  // where the torn bytes are kept
  std::uint64_t size = 0;
  std::string sha256;  // hex, of those bytes
};

// The members between "mono_ns" and "prev", which do not depend on the place in the chain.
std::string body_of(const Record& record);
std::string body_of(const LogHeader& header);
std::string body_of(const Resume& resume);
std::string body_of(const Repair& repair);
std::string close_body();
std::string checkpoint_body(std::string_view note);

// Where the next line goes. A value: a failed write puts the copy back that was taken before it.
class Chain {
 public:
  std::uint64_t size() const { return tree_.size(); }
  const Tree& tree() const { return tree_; }
  const std::optional<Digest>& last() const { return last_; }  // leaf hash of the last line
  const Stamp& stamp() const { return stamp_; }                // of the last line

  // Appends the line and its newline to `out`.
  void add(std::string_view body, const Stamp& stamp, std::string& out);
  // A checkpoint over all lines before it; it carries the stamp of the last of them.
  void add_checkpoint(const SigningKey& key, std::string_view origin, std::string& out);
  // A line that was read.
  void follow(std::string_view line, Stamp stamp);
  std::string line(std::string_view body, const Stamp& stamp) const;

 private:
  Tree tree_;
  std::optional<Digest> last_;
  Stamp stamp_;
};

// One line, read back. nullopt: not a record of this format.
struct ParsedLine {
  std::uint64_t seq = 0;
  Stamp stamp;
  std::string type;
  std::optional<Digest> prev;
  boost::json::object members;

  static std::optional<ParsedLine> parse(std::string_view line);
  std::string text(std::string_view key) const;  // empty when missing or not a string
  std::optional<std::uint64_t> number(std::string_view key) const;
};

}  // namespace warder::audit
