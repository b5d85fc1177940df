// Checks an audit file without trusting who wrote it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "audit/history.hpp"

namespace warder::audit {

struct Verification {
  enum class Outcome : std::uint8_t { intact, broken, unreadable };
  Outcome outcome = Outcome::unreadable;
  std::uint64_t records = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t covered = 0;  // records that the last checkpoint covers
  bool anchored = false;      // a checkpoint kept elsewhere covers the tail
  std::string kind;  // broken: edited deleted reordered truncated forked badsig gap badrecord
  std::uint64_t bad_sequence = 0;
  std::uint64_t bad_offset = 0;
  std::string detail;              // one sentence
  std::string root;                // base64 of the tree's root
  std::string key;                 // the verifier key that was trusted, and from where
  std::uint64_t open_intents = 0;  // allowed intents without receipt (a crash)
  std::uint64_t crashes = 0;       // restarts of this log after a run that did not close it
  bool closed = false;             // a closing checkpoint ends the file
  bool running = false;            // a gateway is writing it at this moment
  std::string origin;              // the log's name, first line of its checkpoints
  std::string previous;            // what the header says of the run before: "<file> <size> <root>"
};

struct VerifyOptions {
  std::filesystem::path file;
  std::string vkey;       // note verifier key "name+hash+base64"; trusted
  std::string vkey_from;  // in words, for Verification::key
  // Checkpoints kept elsewhere: signed notes, or copies of audit files (their last checkpoint
  // counts).
  std::vector<std::filesystem::path> anchors;
  // What later runs wrote down about this file: they must find it as it was.
  std::vector<PreviousRun> witnesses;
};
// Never throws; reads the file as a stream, whatever its size. A file without closing checkpoint is
// broken ("truncated") unless a gateway is writing it: nobody can say that its tail is all there.
Verification verify(const VerifyOptions& options);

// The verifier key that belongs to a key file: what `warder audit verify` pins by default.
std::string verifier_key(const std::filesystem::path& key_file);

}  // namespace warder::audit
