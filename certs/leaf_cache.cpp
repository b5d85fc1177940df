#include "certs/leaf_cache.hpp"

#include <algorithm>
#include <chrono>

namespace warder {
namespace {

// A connection that starts now shall not see its certificate expire in the middle of the handshake, nor
// shortly after it, where a client checks again on resumption.
constexpr auto kRenewBefore = std::chrono::hours(1);

bool valid_at(const X509& certificate, std::chrono::system_clock::time_point at) {
  return ASN1_TIME_cmp_time_t(X509_get0_notAfter(&certificate),
                              std::chrono::system_clock::to_time_t(at)) > 0;
}

// Near the authority's own end no newer leaf can live longer: then a leaf serves to its last second.
bool still_good(const X509& leaf, const CertificateAuthority& authority) {
  const auto now = authority.clock().now();
  if (valid_at(leaf, now + kRenewBefore)) return true;
  const bool renewable =
      ASN1_TIME_compare(X509_get0_notAfter(&leaf), X509_get0_notAfter(authority.certificate())) < 0;
  return !renewable && valid_at(leaf, now);
}

}  // namespace

LeafCache::LeafCache(const CertificateAuthority& authority, std::size_t capacity)
    : authority_(authority), capacity_(std::max<std::size_t>(capacity, 1)) {}

std::shared_ptr<X509> LeafCache::leaf(const HostName& host) {
  if (std::shared_ptr<X509> known = find(host.str())) return known;
  // Outside the lock: one slow mint does not stop the other threads. Two threads may then mint the same
  // name; the one that stores second takes what it finds.
  X509Ptr made = authority_.mint(host);
  if (!made) return nullptr;
  return store(host.str(), std::shared_ptr<X509>(std::move(made)));
}

std::shared_ptr<X509> LeafCache::find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return find_locked(name);
}

std::shared_ptr<X509> LeafCache::find_locked(const std::string& name) {
  const auto found = index_.find(name);
  if (found == index_.end()) return nullptr;
  if (!still_good(*found->second->second, authority_)) {
    order_.erase(found->second);
    index_.erase(found);
    return nullptr;
  }
  order_.splice(order_.begin(), order_, found->second);
  return found->second->second;
}

std::shared_ptr<X509> LeafCache::store(const std::string& name, std::shared_ptr<X509> leaf) {
  const std::lock_guard lock(mutex_);
  if (std::shared_ptr<X509> other = find_locked(name)) return other;
  order_.emplace_front(name, leaf);
  index_[name] = order_.begin();
  if (order_.size() > capacity_) {
    index_.erase(order_.back().first);
    order_.pop_back();
  }
  return leaf;
}

}  // namespace warder
