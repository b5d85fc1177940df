// The arithmetic of tamper evidence: RFC 6962 hashes and a Merkle tree that remembers its right
// edge.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warder::audit {

using Digest = std::array<std::uint8_t, 32>;

Digest leaf_hash(std::string_view line);  // without its newline
Digest node_hash(const Digest& left, const Digest& right);

std::string to_base64(const Digest& digest);
std::optional<Digest> digest_from_base64(std::string_view text);  // standard alphabet, padded

class Tree {
 public:
  void append(const Digest& leaf);
  Digest root() const;  // of no leaves: SHA-256 of nothing
  std::uint64_t size() const { return size_; }

 private:
  std::vector<Digest> edge_;  // roots of the full subtrees, largest first: at most 64
  std::uint64_t size_ = 0;
};

}  // namespace warder::audit
