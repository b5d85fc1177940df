// Feeding bytes in every way: chunking must never matter.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace warder::test {

// check(pieces) for the whole, byte by byte, pieces of 2, 3, 7, 13, and every cut in two.
template <class Check>
void at_every_split(std::string_view bytes, Check check) {
  const auto in_pieces = [&](std::size_t size) {
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < bytes.size(); at += size)
      pieces.push_back(bytes.substr(at, size));
    check(pieces);
  };
  in_pieces(bytes.empty() ? 1 : bytes.size());
  for (const std::size_t size : {1, 2, 3, 7, 13}) in_pieces(size);
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    check(std::vector<std::string_view>{bytes.substr(0, cut), bytes.substr(cut)});
  }
}

}  // namespace warder::test
