#include "audit/chain.hpp"

#include <sodium.h>

#include <algorithm>

#include "base/encoding.hpp"

namespace warder::audit {
namespace {

Digest sha256(std::uint8_t domain, std::string_view first, std::string_view second) {
  crypto_hash_sha256_state state;
  Digest out;
  crypto_hash_sha256_init(&state);
  crypto_hash_sha256_update(&state, &domain, 1);
  crypto_hash_sha256_update(&state, as_bytes(first).data(), first.size());
  crypto_hash_sha256_update(&state, as_bytes(second).data(), second.size());
  crypto_hash_sha256_final(&state, out.data());
  return out;
}

std::string_view text_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

Digest leaf_hash(std::string_view line) { return sha256(0x00, line, {}); }

Digest node_hash(const Digest& left, const Digest& right) {
  return sha256(0x01, text_of(left), text_of(right));
}

std::string to_base64(const Digest& digest) { return base64_encode(text_of(digest)); }

std::optional<Digest> digest_from_base64(std::string_view text) {
  const auto bytes = base64_decode(text);
  if (!bytes || bytes->size() != 32 || base64_encode(*bytes) != text) return std::nullopt;
  Digest out;
  std::copy(bytes->begin(), bytes->end(), out.begin());
  return out;
}

void Tree::append(const Digest& leaf) {
  Digest hash = leaf;
  for (std::uint64_t n = size_; (n & 1) != 0; n >>= 1) {
    hash = node_hash(edge_.back(), hash);
    edge_.pop_back();
  }
  edge_.push_back(hash);
  ++size_;
}

Digest Tree::root() const {
  if (edge_.empty()) {
    Digest nothing;
    crypto_hash_sha256(nothing.data(), nullptr, 0);
    return nothing;
  }
  Digest hash = edge_.back();
  for (std::size_t i = edge_.size() - 1; i-- > 0;) hash = node_hash(edge_[i], hash);
  return hash;
}

}  // namespace warder::audit
