// `warder diff`: what a clone changed, what runs code later first; and which clones are kept.
#pragma once

#include <cstdint>
#include <string>

#include "cli/output.hpp"

namespace warder {

struct DiffArgs {
  std::string id;  // empty: the newest clone of this directory
  enum class Show : std::uint8_t { text, stat, names } show = Show::text;
  bool list = false;
  Json json = Json::no;
};

// 0; 2 where there is no such clone.
int diff_command(const DiffArgs& args);

}  // namespace warder
