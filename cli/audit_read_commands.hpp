// `warder audit tail`, `query` and `export`: records for people and for programs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "cli/record_filter.hpp"

namespace warder {

struct AuditTailArgs {
  std::filesystem::path file;  // empty: the newest run in the state directory
  unsigned lines = 20;         // of what is there
  bool follow = false;
};
// 0; 1: the file was cut while it was followed; 2: it cannot be read.
int audit_tail_command(const AuditTailArgs& args);

struct AuditQueryArgs {
  std::vector<std::filesystem::path> files;  // none: all of the state directory
  RecordCriteria wanted;                     // since and until as they were given
  Json json = Json::no;                      // the lines as they are
};
// 0: something was found; 1: nothing was; 2: unusable arguments or files.
int audit_query_command(const AuditQueryArgs& args);

struct AuditExportArgs {
  std::vector<std::filesystem::path> files;  // none: all of the state directory
  std::string format = "ocsf";
};
// 0; 2: unusable arguments or files, or a line that is no record.
int audit_export_command(const AuditExportArgs& args);

}  // namespace warder
