// `warder audit verify`: checks audit files and says what it found.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/output.hpp"

namespace warder {

struct AuditVerifyArgs {
  std::vector<std::filesystem::path> files;  // none: the newest run in the state directory
  std::string key;  // verifier key; empty: of the state directory's key file
  std::vector<std::filesystem::path> anchors;  // checkpoints kept elsewhere
  Json json = Json::no;
};

// 0: every record is there and intact; 1: broken; 2: unusable arguments, or nothing to check.
int audit_verify_command(const AuditVerifyArgs& args);

}  // namespace warder
