// The audit log of one gateway: one writer thread, group commit, a hash chain, signed checkpoints.
// FORMAT.md says what the bytes are. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "audit/record.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace warder::audit {

enum class Durability : std::uint8_t {
  accepted,  // in the file (it survives this process), with space for its receipts set aside
  durable,   // on the disk (fdatasync)
};

struct LogOptions {
  std::filesystem::path file;      // made with 0600; its directory with 0700
  std::filesystem::path key_file;  // Ed25519 seed; made with 0600 when missing
  std::string gateway;             // id of this run, in the checkpoint's origin
};

class Log {
 public:
  // Throws std::runtime_error with a sentence: what is wrong (held by pid N, not writable, torn
  // beyond repair, key readable by others) and what to do.
  static std::unique_ptr<Log> open(LogOptions options, const Clock& clock);
  virtual ~Log() = default;

  // Queues the record; the writer gives it its sequence. `done` runs once, on the writer's thread:
  // done(true, seq) when the record is as durable as asked ("accepted" is answered after the
  // write), done(false, 0) when the log is not healthy or its queue is full (the exchange must not
  // go on). Only after close() it runs at once, on the caller's thread. `reserve` keeps space for
  // that many later receipts: an Intent that is let through passes 1, and one receipt answers it.
  using Done = std::function<void(bool ok, std::uint64_t seq)>;
  virtual void append(Record record, Durability durability, unsigned reserve, Done done) = 0;
  // A receipt uses the space that its intent reserved. false: it could not be written: abort the
  // exchange.
  virtual bool append_receipt(Receipt receipt) = 0;
  virtual bool healthy() const = 0;

  // Waits for the queue, writes the last checkpoint, closes. Returns false when anything could not
  // be written. Idempotent; the destructor calls it.
  virtual bool close() = 0;
  virtual std::filesystem::path file() const = 0;
};

}  // namespace warder::audit
