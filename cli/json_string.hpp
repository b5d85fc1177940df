// Any bytes as a JSON string: JSON is UTF-8, and what a person or a program wrote may be none.
#pragma once

#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>
#include <string>

#include "audit/json_text.hpp"

namespace warder {

inline boost::json::string json_string(const std::string& text) {
  constexpr std::size_t kMost = 64 * 1024;
  std::string quoted = "\"";
  audit::append_escaped(quoted, text, kMost);
  return boost::json::parse(quoted + '"').as_string();
}

}  // namespace warder
