// The command line of `warder audit`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/audit_command.hpp"

namespace warder {

struct AuditArgs {
  AuditVerifyArgs verify;
  AuditProveArgs prove;
};

// `args` and `code` outlive `app`.
void add_audit(CLI::App& app, AuditArgs& args, int& code);

}  // namespace warder
