// Every receipt answers one allowed intent; an intent that nobody answers is an open one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "audit/format.hpp"

namespace warder::audit {

class Pairing {
 public:
  // A sentence when the record does not fit the ones before.
  std::optional<std::string> feed(const ParsedLine& line);
  std::uint64_t open() const { return lost_ + waiting_.size(); }
  std::uint64_t crashes() const { return crashes_; }

 private:
  struct Exchange {
    std::string session;
    std::uint64_t number = 0;
    bool operator==(const Exchange&) const = default;
  };
  std::optional<std::string> receipt(const ParsedLine& line);

  std::unordered_map<std::uint64_t, Exchange> waiting_;  // by the intent's sequence
  std::uint64_t lost_ = 0;
  std::uint64_t crashes_ = 0;
};

}  // namespace warder::audit
