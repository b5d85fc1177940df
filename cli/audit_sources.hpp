// Which audit files a command is about, and whose signatures it believes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "audit/note.hpp"

namespace warder {

// All audit files of the state directory, oldest first. Throws std::runtime_error when there is none.
std::vector<std::filesystem::path> state_audit_files();
std::filesystem::path last_run_file();

struct TrustedKey {
  std::string text;
  std::string from;  // in words
};
// Never the key that a log itself names: whoever forged the log chose that one.
TrustedKey trusted_key(const std::string& given);
audit::VerifierKey parsed_key(const std::string& given);  // throws std::runtime_error

}  // namespace warder
