// Finds the values of wanted keys while a form (application/x-www-form-urlencoded) passes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "secrets/place_finder.hpp"

namespace warder {

class FormPlaces final : public PlaceFinder {
 public:
  // Keys are compared as decoded, '+' is a space.
  explicit FormPlaces(std::vector<std::string> keys);
  PlaceRun next(std::string_view in) override;

 private:
  std::size_t named() const;

  std::vector<std::string> keys_;
  std::size_t longest_key_ = 0;  // that can match, as spelt
  std::string key_;              // as spelt; one byte more than the longest: none
  bool in_key_ = true;
  std::size_t inside_ = PlaceRun::kOutside;
};

}  // namespace warder
