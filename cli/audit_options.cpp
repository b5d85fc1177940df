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

void add_files(CLI::App& command, std::vector<std::filesystem::path>& files) {
  command.add_option("FILE", files, "audit files (without one: all of the state directory)");
}

void add_times(CLI::App& command, std::string& since, std::string& until) {
  command
      .add_option("--since", since, "from this moment on: 2026-11-29T12:00:00Z, 2026-11-29, 2h, 7d")
      ->type_name("TIME");
  command.add_option("--until", until, "before this moment")->type_name("TIME");
}

void add_tail(CLI::App& audit, AuditTailArgs& args, int& code) {
  CLI::App* tail = audit.add_subcommand("tail", "the last records, to read");
  tail->add_option("FILE", args.file, "audit file (without one: the last run's)");
  tail->add_flag("-f,--follow", args.follow, "and those that follow, until it is interrupted");
  tail->add_option("-n,--lines", args.lines, "how many of those that are there (20)")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000));
  tail->callback([&args, &code] { code = audit_tail_command(args); });
}

constexpr const char* kQueryFooter =
    R"(Examples:
  warder audit query --decision deny --since 2h
  warder audit query --host '*.github.com' --secret github --json
Exit codes: 0 something was found, 1 nothing was, 2 the arguments or files cannot be used.)";

void add_query(CLI::App& audit, AuditQueryArgs& args, int& code) {
  CLI::App* query = audit.add_subcommand("query", "the records that …, to read or as they are");
  query->footer(kQueryFooter);
  add_files(*query, args.files);
  RecordCriteria& wanted = args.wanted;
  query->add_option("--session", wanted.session, "of this session")->type_name("ID");
  query->add_option("--host", wanted.host, "about this host; *.example.com: about those below it")
      ->type_name("HOST");
  query->add_option("--secret", wanted.secret, "that name this secret")->type_name("NAME");
  query->add_option("--decision", wanted.decision, "allow, deny, observe or timeout")
      ->type_name("WORD");
  query->add_option("--type", wanted.type, "intent, receipt, dns …")->type_name("WORD");
  query->add_option("--reason", wanted.reason, "host_not_allowed …")->type_name("WORD");
  add_times(*query, wanted.since, wanted.until);
  query->add_flag_callback("--json", [&args] { args.json = Json::yes; }, "the lines as they are");
  query->callback([&args, &code] { code = audit_query_command(args); });
}

void add_report(CLI::App& audit, AuditReportArgs& args, int& code) {
  CLI::App* report = audit.add_subcommand("report", "verify, then tell what the records say");
  report->footer("Exit codes: as warder audit verify: 0 intact, 1 broken, 2 not verifiable.");
  add_files(*report, args.files);
  report->add_option("--session", args.session, "of this session only")->type_name("ID");
  add_times(*report, args.since, args.until);
  add_key(*report, args.key);
  report->add_option("--anchor", args.anchors, "a checkpoint that was kept elsewhere; may repeat")
      ->type_name("FILE")
      ->take_all()
      ->expected(1);
  report
      ->add_option_function<std::string>(
          "--format",
          [&args](const std::string& to) { args.json = to == "json" ? Json::yes : Json::no; },
          "markdown, or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"markdown", "json"}));
  report->callback([&args, &code] { code = audit_report_command(args); });
}

void add_export(CLI::App& audit, AuditExportArgs& args, int& code) {
  CLI::App* exports =
      audit.add_subcommand("export", "the records as events for a SIEM, one a line");
  add_files(*exports, args.files);
  exports->add_option("--format", args.format, "ocsf (1.8)")
      ->type_name("FORMAT")
      ->required()
      ->check(CLI::IsMember({"ocsf"}));
  exports->callback([&args, &code] { code = audit_export_command(args); });
}

}  // namespace

void add_audit(CLI::App& app, AuditArgs& args, int& code) {
  CLI::App* audit = app.add_subcommand("audit", "look at and check audit records");
  audit->require_subcommand(1);
  add_verify(*audit, args.verify, code);
  add_tail(*audit, args.tail, code);
  add_query(*audit, args.query, code);
  add_report(*audit, args.report, code);
  add_export(*audit, args.exports, code);
  add_prove(*audit, args.prove, code);
}

}  // namespace warder
