// Finds out what was done to an audit file at the place where it stops being right.
#pragma once

#include <string>

#include "audit/walk.hpp"

namespace warder::audit {

struct Diagnosis {
  std::string kind;  // edited deleted reordered truncated forked badsig gap badrecord
  std::uint64_t seq = 0;
  std::uint64_t offset = 0;
  std::string detail;
};

// `walker` stopped with `fault` at a line; `reader` stands behind that line.
Diagnosis diagnose(const Walker& walker, const Fault& fault, LineReader& reader,
                   const VerifierKey& key);

}  // namespace warder::audit
