// Which version of HTTP each origin speaks, as far as it is known: what a sandbox is offered for that origin.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "http/authority.hpp"
#include "proxy/rewrite.hpp"

namespace warder {

// Thread-safe. Bounded: when it is full it starts anew, and origins are asked again.
class VersionCache {
 public:
  static constexpr std::size_t kMost = 4096;

  std::optional<HttpVersion> find(const Authority& authority) const {
    const std::scoped_lock lock(mutex_);
    const auto known = versions_.find(authority.host_port());
    if (known == versions_.end()) return std::nullopt;
    return known->second;
  }
  void learn(const Authority& authority, HttpVersion version) {
    const std::scoped_lock lock(mutex_);
    if (versions_.size() >= kMost) versions_.clear();
    versions_[authority.host_port()] = version;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, HttpVersion> versions_;
};

}  // namespace warder
