// Where in a request head placeholders stand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"
#include "secrets/matcher.hpp"

namespace warder {

struct Sighting {
  // basic: in the decoded Basic pair of Authorization. elsewhere: where no grant can allow it.
  enum class Spot : std::uint8_t { header, basic, query, path, elsewhere };
  std::uint32_t pattern;  // of the matcher
  Spot spot;
  // "header:x-api-key", "basic", "query:key", "path", "target", "method", "field name". Of a query
  // key only what is harmless to print.
  std::string place;
  std::size_t field;  // index in the fields; none outside of them
  std::size_t
      times;  // user and password of one Basic pair are one place: the larger count of the two

  std::string key{};  // of the query pair, as decoded

  static constexpr std::size_t kNoField = SIZE_MAX;
};

std::vector<Sighting> sightings_in(const RequestHead& head, const Matcher& placeholders);
std::vector<Sighting> sightings_in(const HeaderList& fields, const Matcher& placeholders);

std::string lower_case(std::string_view text);

}  // namespace warder
