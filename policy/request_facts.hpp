// What of a request a rule may ask. Borrowed for the length of a call.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "http/authority.hpp"
#include "http/message.hpp"

namespace warder {

struct RequestFacts {
  const Authority& authority;
  std::string_view method;
  std::string_view path;                        // as sent, and not ambiguous (http/target.hpp)
  std::string_view query = {};                  // as sent, without '?'
  const HeaderList* fields = nullptr;           // null: none
  std::optional<std::uint64_t> body_bytes = 0;  // nullopt: known only at its end
};

}  // namespace warder
