// `warder audit report`: verifies, and then tells what the records say.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/output.hpp"

namespace warder {

struct AuditReportArgs {
  std::vector<std::filesystem::path> files;  // none: all of the state directory
  std::string session;
  std::string since;
  std::string until;
  std::string key;
  std::vector<std::filesystem::path> anchors;
  Json json = Json::no;  // else Markdown
};

// As `warder audit verify`: 0 intact, 1 broken, 2 not verifiable, or unusable arguments.
int audit_report_command(const AuditReportArgs& args);

}  // namespace warder
