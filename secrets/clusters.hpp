// Puts the matches of one stream in order: those that share bytes lie in one cluster, of which nothing may be seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "secrets/matcher.hpp"

namespace warder {

enum class Found : std::uint8_t { as_it_stands, spelled };

// Not shared. Offsets are those of the text that the matches were found in.
class Clusters {
 public:
  struct Hit {
    Matcher::Hit at;
    Found found;
  };

  // Matches come in any order; soonest is the one that ends first.
  void add(const Matcher::Hit& match, Found found);
  // The next hit, when no match that begins before `begun` is to come any more. Of a cluster that is the leftmost match, of these the longest,
  // of these the one that needs no reading; then the rest, as a hit that begins before the end of the last one.
  std::optional<Hit> take(std::size_t begun);
  void drop(std::size_t n);

 private:
  struct Cluster {
    Hit first;
    std::size_t end;
  };
  std::list<Cluster> clusters_;  // in the text's order
  std::size_t taken_ = 0;        // where the last hit ends
};

}  // namespace warder
