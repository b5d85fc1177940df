// What a sandbox wrote, for the eyes of somebody who decides by it: nothing that a terminal obeys or that looks like what
// it is not, and cut where it is too long, with a mark. Pure.
#pragma once

#include <string>
#include <string_view>

namespace warder {

// Printable ASCII as it is; a backslash doubled; every other byte as \xNN. "…[+N]": N bytes more.
std::string shown_ascii(std::string_view text, std::size_t limit);
// Text of people: letters of any script as they are; controls, invisible characters and those that turn the direction of
// text as \uNNNN.
std::string shown_text(std::string_view text, std::size_t limit);

}  // namespace warder
