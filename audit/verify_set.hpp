// Several audit files checked together: each for itself, and that none between them is missing.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "audit/verify.hpp"

namespace warder::audit {

struct SetOptions {
  std::vector<std::filesystem::path> files;  // a directory stands for the audit files in it
  std::string vkey;
  std::string vkey_from;
  std::vector<std::filesystem::path> anchors;
};

struct FileVerification {
  std::filesystem::path file;
  Verification result;
};

// Every header names the last checkpoint of the run before. Where that run's file is in the set, it
// must hold this checkpoint; only the oldest file may follow a run that is not in the set.
std::vector<FileVerification> verify_set(const SetOptions& options);

enum class ReportForm : std::uint8_t { text, json };

// For a person or a program; free of bytes that a terminal obeys.
void report(const std::vector<FileVerification>& files, ReportForm form, std::ostream& out);

// 0: every record is there and intact. 1: broken. 2: could not be checked.
int exit_code(const std::vector<FileVerification>& files);

}  // namespace warder::audit
