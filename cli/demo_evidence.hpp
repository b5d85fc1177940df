// What the demo has in hand after its run: outputs, the origin's memory, the record; and the search for the value.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "audit/format.hpp"
#include "audit/verify.hpp"
#include "base/random.hpp"
#include "cli/demo_origin.hpp"
#include "cli/sandboxed_run.hpp"

namespace warder {

// A token made for one demo, of the shape of a GitHub token. Good for nothing, and treated as if it were not.
class DemoToken {
 public:
  explicit DemoToken(Random& random);
  ~DemoToken();
  DemoToken(const DemoToken&) = delete;
  DemoToken& operator=(const DemoToken&) = delete;

  const std::string& value() const { return value_; }
  std::string shortened() const;  // the first 7 characters and "…"
  // The value, a half of it as /stream sends it, or the value in base64 at any alignment, in hex or reversed.
  bool is_in(std::string_view text) const;
  // `text` with the value, and each half of it, shortened.
  std::string shorten(std::string text) const;

 private:
  std::string value_;
  std::vector<std::string> forms_;
};

struct CommandOutcome {
  std::string output;
  int exit_code = -1;  // -1: the command left none
};

struct DemoEvidence {
  std::map<std::string, CommandOutcome, std::less<>> commands;  // by step
  std::string placeholder;  // what the sandbox found in its variable; empty: nothing
  std::string origin_address;
  std::vector<OriginRequest> requests;
  RunOutcome outcome;
  audit::Verification verification;
  std::vector<audit::ParsedLine> records;
  std::size_t files_searched = 0;
  std::vector<std::string> leaks;  // one sentence for each place that holds the value

  bool ran() const;  // every command left its exit code
};

// Reads the workspace and the audit file; `requests` and `outcome` as they are given.
DemoEvidence collect_evidence(const std::filesystem::path& workspace, const DemoToken& token,
                              const DemoOrigin& origin, RunOutcome outcome);

}  // namespace warder
