// From paths that were seen to patterns that match them and little else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warder {

// The pattern nearest to one path as an audit record has it: what a pattern cannot spell, and
// "[secret:NAME]", becomes "*"; a path that was cut, or is very deep, ends in "/**". Empty: there is
// none.
std::string literal_pattern(std::string_view path);

// Patterns that together match all of them: ids become "*" (numbers, UUIDs, hashes, random tokens, 4
// values in one place of otherwise equal paths), a prefix with 8 different patterns below it becomes
// "/prefix/**". "/**" only for very many patterns with 3 different first segments. Sorted; paths
// without any pattern are left out.
std::vector<std::string> general_patterns(const std::vector<std::string>& paths);
// The same without any of that: literal_pattern() of each.
std::vector<std::string> literal_patterns(const std::vector<std::string>& paths);

}  // namespace warder
