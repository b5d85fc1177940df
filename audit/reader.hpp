// Audit files read for what they say. Whether it is true is audit/verify.hpp's to tell.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "audit/chain.hpp"
#include "audit/format.hpp"
#include "audit/verify.hpp"

namespace warder::audit {

struct ReadRecord {
  std::string_view bytes;  // without the newline
  const ParsedLine& line;
  Digest leaf;
};

struct ReadCounts {
  std::uint64_t records = 0;
  std::uint64_t not_records = 0;  // lines
  bool as_verified = true;        // what was read is what the verification read
};

// A record, and free of bytes that a terminal obeys: the writer escapes those, so a line with one is not from it.
std::optional<ParsedLine> read_line(std::string_view bytes);

// Every record of the file in order. With `verified`, also whether the lines are those that this was said of. Throws
// std::runtime_error for a file that cannot be read.
ReadCounts read_records(const std::filesystem::path& file,
                        const std::function<void(const ReadRecord&)>& each,
                        const Verification* verified = nullptr);

}  // namespace warder::audit
