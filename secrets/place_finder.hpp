// What finds wanted places in a body as it passes.
#pragma once

#include <cstddef>
#include <string_view>

namespace warder {

// The front of a text: outside of every wanted place, or inside the value that stands at one.
struct PlaceRun {
  static constexpr std::size_t kOutside = SIZE_MAX;
  std::size_t size = 0;  // 0: only what follows it has changed
  std::size_t place = kOutside;
  bool ends = false;      // the value ends with this run
  bool is_whole = true;   // no: it is no value after all
  bool is_quoted = true;  // a string's content; else a bare word or number
};

class PlaceFinder {
 public:
  virtual ~PlaceFinder() = default;
  // `in` is not empty; what of it lies behind the run comes again.
  virtual PlaceRun next(std::string_view in) = 0;
};

}  // namespace warder
