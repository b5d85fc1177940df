// The command line of `warder audit`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/audit_command.hpp"
#include "cli/audit_read_commands.hpp"
#include "cli/audit_report_command.hpp"

namespace warder {

struct AuditArgs {
  AuditVerifyArgs verify;
  AuditProveArgs prove;
  AuditTailArgs tail;
  AuditQueryArgs query;
  AuditReportArgs report;
  AuditExportArgs exports;
};

// `args` and `code` outlive `app`.
void add_audit(CLI::App& app, AuditArgs& args, int& code);

}  // namespace warder
