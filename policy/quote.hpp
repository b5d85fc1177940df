// Quotes text that somebody else wrote, for an error sentence or a suggestion: one line, bounded,
// nothing that a terminal would obey.
#pragma once

#include <string>
#include <string_view>

namespace warder {

// "text" in double quotes; control bytes and quotes as \xNN or \"; cut with … after kMaxQuoted
// bytes. It is also a YAML double-quoted scalar when nothing was cut.
inline constexpr std::size_t kMaxQuoted = 120;
std::string in_quotes(std::string_view text);
// The same without a limit: what is printed as YAML.
std::string yaml_quoted(std::string_view text);

}  // namespace warder
