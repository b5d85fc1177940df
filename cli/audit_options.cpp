#include "cli/audit_options.hpp"

namespace warder {
namespace {

void add_key(CLI::App& command, std::string& key) {
  command.add_option("--key", key, "verifier key to trust (without it: this host's own)")
      ->type_name("VKEY");
}

void add_verify(CLI::App& audit, AuditVerifyArgs& args, int& code) {
  CLI::App* verify = audit.add_subcommand("verify", "check that every record is there and intact");
  CLI::Option* files =
      verify->add_option("FILE", args.files, "audit files (without one: the last run's)");
  add_key(*verify, args.key);
  CLI::Option* anchors =
      verify
          ->add_option("--anchor", args.anchors, "a checkpoint that was kept elsewhere; may repeat")
          ->type_name("FILE")
          ->take_all()
          ->expected(1);
  verify->add_option("--proof", args.proof, "check what warder audit prove made, instead")
      ->type_name("FILE")
      ->excludes(files)
      ->excludes(anchors);
  verify->add_flag_callback("--json", [&args] { args.json = Json::yes; }, "print JSON");
  verify->callback([&args, &code] { code = audit_verify_command(args); });
}

constexpr const char* kProveFooter =
    R"(The file that it writes holds the record, its inclusion proof and a signed checkpoint, and nothing else of the log:
  warder audit prove 17 --out 17.proof
  warder audit verify --proof 17.proof --key VKEY)";

void add_prove(CLI::App& audit, AuditProveArgs& args, int& code) {
  CLI::App* prove = audit.add_subcommand(
      "prove", "prove that one record stands in a log, without showing the others");
  prove->footer(kProveFooter);
  prove->add_option("SEQ", args.sequence, "the record's number")
      ->required()
      ->check(CLI::NonNegativeNumber);  // else -1 would be a very large one
  prove->add_option("FILE", args.file, "audit file (without one: the last run's)");
  prove->add_option("--out", args.out, "write it to this file, which must not be there")
      ->type_name("FILE");
  add_key(*prove, args.key);
  prove->callback([&args, &code] { code = audit_prove_command(args); });
}

}  // namespace

void add_audit(CLI::App& app, AuditArgs& args, int& code) {
  CLI::App* audit = app.add_subcommand("audit", "look at and check audit records");
  audit->require_subcommand(1);
  add_verify(*audit, args.verify, code);
  add_prove(*audit, args.prove, code);
}

}  // namespace warder
