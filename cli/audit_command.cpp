#include "cli/audit_command.hpp"

#include <iostream>
#include <stdexcept>

#include "audit/json_text.hpp"
#include "audit/proof.hpp"
#include "audit/verify_set.hpp"
#include "cli/audit_sources.hpp"
#include "cli/new_file.hpp"

namespace warder {
namespace {

audit::SetOptions options_of(const AuditVerifyArgs& args) {
  audit::SetOptions options;
  options.files = args.files;
  options.anchors = args.anchors;
  if (options.files.empty()) options.files.push_back(last_run_file());
  const TrustedKey key = trusted_key(args.key);
  options.vkey = key.text;
  options.vkey_from = key.from;
  return options;
}

std::string_view word(audit::ProofVerdict::Outcome outcome) {
  using Outcome = audit::ProofVerdict::Outcome;
  return outcome == Outcome::proved ? "proved" : outcome == Outcome::wrong ? "wrong" : "unreadable";
}

void report_json(const audit::ProofVerdict& verdict, const TrustedKey& key) {
  constexpr std::size_t kMost = 16 * 1024;
  std::string out = "{";
  audit::Members(out)
      .text("outcome", word(verdict.outcome), kMost)
      .text("detail", verdict.detail, kMost)
      .number("sequence", verdict.proof.index)
      .number("size", verdict.checkpoint.size)
      .text("root", audit::to_base64(verdict.checkpoint.root), kMost)
      .text("origin", verdict.checkpoint.origin, kMost)
      .text("key", key.text + " (" + key.from + ")", kMost)
      .text("record", verdict.proof.record, kMost);
  std::cout << out << "}\n";
}

void report_text(const audit::ProofVerdict& verdict, const TrustedKey& key,
                 const std::filesystem::path& file) {
  const auto line = [](std::string_view name, std::string_view value) {
    std::cout << "  " << name << std::string(12 - name.size(), ' ') << audit::printable(value)
              << "\n";
  };
  std::cout << word(verdict.outcome) << ": " << audit::printable(file.string()) << "\n";
  if (!verdict.detail.empty()) line("because", verdict.detail);
  if (verdict.outcome == audit::ProofVerdict::Outcome::unreadable) return;
  line("log", verdict.checkpoint.origin);
  line("record",
       std::to_string(verdict.proof.index) + " of " + std::to_string(verdict.checkpoint.size));
  line("root", audit::to_base64(verdict.checkpoint.root));
  line("trusted", key.text + " (" + key.from + ")");
  // For the eye: a record is no longer than what printable() lets through.
  if (verdict.outcome == audit::ProofVerdict::Outcome::proved)
    std::cout << audit::harmless(verdict.proof.record) << "\n";
}

int verify_proof(const AuditVerifyArgs& args) {
  const TrustedKey key = trusted_key(args.key);
  const audit::ProofVerdict verdict = audit::check_proof_file(args.proof, parsed_key(args.key));
  if (args.json == Json::yes) {
    report_json(verdict, key);
  } else {
    report_text(verdict, key, args.proof);
  }
  using Outcome = audit::ProofVerdict::Outcome;
  return verdict.outcome == Outcome::proved ? 0 : verdict.outcome == Outcome::wrong ? 1 : 2;
}

int verify_files(const AuditVerifyArgs& args) {
  const auto results = audit::verify_set(options_of(args));
  const auto form = args.json == Json::yes ? audit::ReportForm::json : audit::ReportForm::text;
  audit::report(results, form, std::cout);
  return audit::exit_code(results);
}

}  // namespace

int audit_verify_command(const AuditVerifyArgs& args) {
  try {
    const int code = args.proof.empty() ? verify_files(args) : verify_proof(args);
    std::cout.flush();
    // A verdict that nobody could read is not one.
    return std::cout ? code : 2;
  } catch (const std::exception& error) {
    std::cerr << "warder audit verify: " << audit::printable(error.what()) << "\n";
    return 2;
  }
}

int audit_prove_command(const AuditProveArgs& args) {
  const auto complain = [](const std::exception& error) {
    std::cerr << "warder audit prove: " << audit::printable(error.what()) << "\n";
  };
  try {
    const auto file = args.file.empty() ? last_run_file() : args.file;
    const std::string text = audit::prove(file, args.sequence, parsed_key(args.key)).text();
    if (args.out.empty()) {
      std::cout << text;
      std::cout.flush();
      return std::cout ? 0 : 2;
    }
    NewFile(args.out, false).write(text);
    return 0;
  } catch (const audit::CannotProve& error) {
    complain(error);
    return 1;
  } catch (const std::exception& error) {
    complain(error);
    return 2;
  }
}

}  // namespace warder
