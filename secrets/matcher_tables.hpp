// The tables of a Matcher, for the scanners that walk them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/matcher.hpp"
#include "secrets/wiped.hpp"

namespace warder {

// Two machines. The automaton is a trie with failure links: exact, linear in the text whatever is
// in it, and as large as the patterns (a full transition table for a 16 KiB value would be 40 MB
// for every session). In front of it stands a shift table of 3-grams (Wu-Manber) that leaps over
// text in which nothing can begin.
struct Matcher::Tables {
  struct Node {
    std::uint32_t depth = 0;
    std::uint32_t fail = 0;    // the longest proper suffix that is a node too
    std::uint32_t hit = npos;  // the longest pattern that ends here
    std::uint32_t live = 0;    // depth of the longest suffix (itself included) that has a way on
    std::uint32_t first_edge = 0;
    std::uint32_t edge_count = 0;
  };
  struct Edge {
    std::uint8_t byte;
    std::uint32_t to;
  };
  using Order = std::vector<std::uint32_t>;

  explicit Tables(const std::vector<std::string>& patterns);
  void build_trie(const std::vector<std::string>& patterns, const Order& sorted);
  void link();
  void build_shifts(const std::vector<std::string>& patterns);

  std::uint32_t step(std::uint32_t state, std::uint8_t byte) const {
    while (state != 0) {
      const Node& node = nodes[state];
      for (std::uint32_t i = node.first_edge; i < node.first_edge + node.edge_count; ++i) {
        if (edges[i].byte == byte) return edges[i].to;
      }
      state = node.fail;
    }
    return root[byte];
  }
  // The first place at or after `at` where a pattern, or the beginning of one at the text's end, may begin.
  std::size_t skip(std::string_view text, std::size_t at) const;

  WipedVector<Node> nodes;
  WipedVector<Edge> edges;
  std::array<std::uint32_t, 256> root{};
  std::vector<std::uint32_t> sizes;  // of the patterns
  WipedVector<std::uint8_t> shifts;
  unsigned shift_bits = 0;
  std::size_t window = 0;  // 0: no skipping
  std::size_t longest = 0;
};

}  // namespace warder
