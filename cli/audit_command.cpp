#include "cli/audit_command.hpp"

#include <iostream>
#include <stdexcept>

#include "audit/history.hpp"
#include "audit/json_text.hpp"
#include "audit/verify_set.hpp"
#include "cli/state.hpp"

namespace warder {
namespace {

audit::SetOptions options_of(const AuditVerifyArgs& args) {
  audit::SetOptions options{args.files, args.key, "given as --key", args.anchors};
  if (options.files.empty()) {
    const auto runs = audit::audit_files(audit_directory());
    if (runs.empty()) {
      throw std::runtime_error("there is no audit file in " + audit_directory().string() +
                               "; name one");
    }
    options.files.push_back(runs.back());
  }
  if (options.vkey.empty()) {
    // Never the key that the log itself names: whoever forged the log chose that one.
    options.vkey = audit::verifier_key(audit_key_file());
    options.vkey_from = "this host's key file " + audit_key_file().string();
  }
  return options;
}

}  // namespace

int audit_verify_command(const AuditVerifyArgs& args) {
  try {
    const auto results = audit::verify_set(options_of(args));
    const auto form = args.json == Json::yes ? audit::ReportForm::json : audit::ReportForm::text;
    audit::report(results, form, std::cout);
    std::cout.flush();
    // A verdict that nobody could read is not one.
    return std::cout ? audit::exit_code(results) : 2;
  } catch (const std::exception& error) {
    std::cerr << "warder audit verify: " << audit::printable(error.what()) << "\n";
    return 2;
  }
}

}  // namespace warder
