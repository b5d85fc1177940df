// What look-ups found, kept for as long as the answers themselves allow. Bounded: the name that was used least
// recently goes. Thread-safe; knows no clock and no socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "policy/address_guard.hpp"

namespace warder {

enum class ResolveError : int {
  no_such_name = 1,  // NXDOMAIN
  no_address,        // the name exists, and has neither A nor AAAA
  no_answer,         // in time
  refused,           // the resolver says no, says something senseless, or its port is closed
  too_many,          // look-ups at a time
};
error_code make_error_code(ResolveError error);

}  // namespace warder

template <>
struct boost::system::is_error_code_enum<warder::ResolveError> : std::true_type {};

namespace warder {

struct NameAnswer {
  Result<std::vector<IpAddress>>
      addresses;                // in the resolver's order, never empty; or a ResolveError
  std::chrono::seconds ttl{0};  // the shortest of its records
};

class NameCache {
 public:
  static constexpr std::chrono::seconds kLongest{300};
  static constexpr std::chrono::seconds kNegative{2};

  explicit NameCache(std::size_t capacity = 1024);

  // How long an answer may be kept. Zero, not at all: a TTL of 0, and failures that are not the name's own.
  static std::chrono::seconds lifetime(const NameAnswer& answer);

  std::optional<NameAnswer> find(const std::string& name,
                                 std::chrono::steady_clock::time_point now);
  void store(const std::string& name, const NameAnswer& answer,
             std::chrono::steady_clock::time_point now);
  std::size_t size() const;

 private:
  struct Entry {
    std::string name;
    NameAnswer answer;
    std::chrono::steady_clock::time_point until;
  };
  void forget(const std::string& name);

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> order_;  // most recent first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

}  // namespace warder
