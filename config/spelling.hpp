// "Did you mean": the known word nearest to one that is not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warder {

// Empty when none is near enough to be what was meant.
std::string nearest(std::string_view word, const std::vector<std::string>& known);
// ": did you mean 'hosts'?", or ": known are a, b, c", or `otherwise` when nothing is known.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         std::string_view otherwise = "");

}  // namespace warder
