// `warder audit verify` and `prove`: what holds of audit files, and of one record without the rest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/output.hpp"

namespace warder {

struct AuditVerifyArgs {
  std::vector<std::filesystem::path> files;  // none: the newest run in the state directory
  std::string key;  // verifier key; empty: of the state directory's key file
  std::vector<std::filesystem::path> anchors;  // checkpoints kept elsewhere
  std::filesystem::path proof;                 // instead of files: what `prove` made
  Json json = Json::no;
};

// 0: every record is there and intact; 1: broken; 2: unusable arguments, or nothing to check.
int audit_verify_command(const AuditVerifyArgs& args);

struct AuditProveArgs {
  std::uint64_t sequence = 0;
  std::filesystem::path file;  // empty: the newest run in the state directory
  std::string key;
  std::filesystem::path out;  // empty: stdout
};

// 0: the proof is written; 1: the file does not allow one; 2: unusable arguments.
int audit_prove_command(const AuditProveArgs& args);

}  // namespace warder
