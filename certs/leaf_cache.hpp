// One leaf per name, minted when first asked for and again when it is about to expire. Bounded: the one that
// was used least recently goes. Thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "certs/authority.hpp"

namespace warder {

class LeafCache {
 public:
  explicit LeafCache(const CertificateAuthority& authority, std::size_t capacity = 4096);
  // nullptr when minting fails.
  std::shared_ptr<X509> leaf(const HostName& host);
  const CertificateAuthority& authority() const { return authority_; }

 private:
  using Entry = std::pair<std::string, std::shared_ptr<X509>>;

  std::shared_ptr<X509> find(const std::string& name);
  std::shared_ptr<X509> find_locked(const std::string& name);
  std::shared_ptr<X509> store(const std::string& name, std::shared_ptr<X509> leaf);

  const CertificateAuthority& authority_;
  const std::size_t capacity_;
  std::mutex mutex_;
  std::list<Entry> order_;  // most recent first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

}  // namespace warder
