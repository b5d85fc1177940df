// The forms in which a value may come back, each with the same form of its placeholder
// (docs/masking.md).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace warder {

struct EncodedForm {
  std::string pattern;  // spells the value: the caller wipes it
  std::string replacement;
  std::string_view encoding;  // "raw", "base64", "base64url", "hex", "percent", "json"
};

inline constexpr std::size_t kMaxForms = 60;  // of one value

// Forms that are equal to an earlier one are left out.
std::vector<EncodedForm> encoded_forms(std::string_view value, std::string_view placeholder);

}  // namespace warder
