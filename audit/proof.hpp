// That one record stands in a log, shown without the rest of it: RFC 6962 inclusion under a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "audit/chain.hpp"
#include "audit/note.hpp"

namespace warder::audit {

// What lies beside the way from a leaf to the root, the nearest first, by ranges of leaves [begin, end).
struct LeafRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool operator==(const LeafRange&) const = default;
};
std::vector<LeafRange> path_ranges(std::uint64_t index, std::uint64_t size);  // index < size

// The root that such a path leads to. nullopt: it is no path in a tree of that size.
std::optional<Digest> root_of_path(const Digest& leaf, std::uint64_t index, std::uint64_t size,
                                   const std::vector<Digest>& path);

// As a file: FORMAT.md §7.
struct Proof {
  std::string record;  // the line, without its newline
  std::uint64_t index = 0;
  std::vector<Digest> path;
  std::string note;

  std::string text() const;
  static std::optional<Proof> parse(std::string_view text);
};

// The file is not what it must be: nothing is proved from it.
class CannotProve : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Of record `seq` under the newest checkpoint of the file, whose lines and signatures are checked on the way. Throws
// CannotProve when one of them is wrong, or no checkpoint covers the record.
Proof prove(const std::filesystem::path& file, std::uint64_t seq, const VerifierKey& key);

struct ProofVerdict {
  enum class Outcome : std::uint8_t { proved, wrong, unreadable };
  Outcome outcome = Outcome::unreadable;
  std::string detail;  // what is wrong
  Proof proof;
  Checkpoint checkpoint;
};
// Never throws.
ProofVerdict check_proof(std::string_view text, const VerifierKey& key);
ProofVerdict check_proof_file(const std::filesystem::path& file, const VerifierKey& key);

}  // namespace warder::audit
