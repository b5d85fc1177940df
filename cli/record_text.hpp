// One line for a person out of an audit record; free of bytes that a terminal obeys, but for colours of our own.
#pragma once

#include <cstdint>
#include <string>

#include "audit/format.hpp"

namespace warder {

enum class Colours : std::uint8_t { no, yes };

// On a terminal, unless NO_COLOR or TERM=dumb says otherwise.
Colours colours_of_stdout();

// Without a newline. A type that is not known is told by its keys and values.
std::string record_text(const audit::ParsedLine& line, Colours colours);

}  // namespace warder
