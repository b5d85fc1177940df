#include "cli/audit_report_command.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <stdexcept>

#include "audit/json_text.hpp"
#include "audit/reader.hpp"
#include "cli/audit_report.hpp"
#include "cli/audit_sources.hpp"
#include "cli/record_filter.hpp"

namespace warder {
namespace {

std::string scope_of(const AuditReportArgs& args, const RecordCriteria& wanted) {
  std::string out = args.session.empty() ? "all sessions" : "session " + args.session;
  if (!wanted.since.empty()) out += " since " + wanted.since;
  if (!wanted.until.empty()) out += " until " + wanted.until;
  return out + " (UTC)";
}

AuditReport make_report(const AuditReportArgs& args) {
  const auto now = std::chrono::system_clock::now();
  RecordCriteria wanted;
  wanted.session = args.session;
  if (!args.since.empty()) wanted.since = moment_of(args.since, now);
  if (!args.until.empty()) wanted.until = moment_of(args.until, now);

  AuditReport report;
  const TrustedKey key = trusted_key(args.key);
  audit::SetOptions options;
  options.files = args.files.empty() ? state_audit_files() : args.files;
  options.vkey = key.text;
  options.vkey_from = key.from;
  options.anchors = args.anchors;
  report.verification = audit::verify_set(options);
  report.verdict = audit::exit_code(report.verification);
  report.scope = scope_of(args, wanted);

  ReportMaker maker(report);
  RecordMatcher matcher(wanted);
  for (const audit::FileVerification& file : report.verification) {
    if (file.result.outcome == audit::Verification::Outcome::unreadable) continue;
    const auto& anchors = args.anchors;  // one that fits no file is judged, not told
    if (std::find(anchors.begin(), anchors.end(), file.file) != anchors.end()) continue;
    maker.next_file(file.file.filename().string());
    matcher.next_file();
    const audit::ReadCounts counts = audit::read_records(
        file.file,
        [&](const audit::ReadRecord& record) {
          maker.feed(record.line, matcher.matches(record.line));
        },
        &file.result);
    report.not_records += counts.not_records;
    if (counts.as_verified) continue;
    report.changed.push_back(file.file.string());
    report.verdict = 1;
  }
  return report;
}

}  // namespace

int audit_report_command(const AuditReportArgs& args) {
  try {
    const AuditReport report = make_report(args);
    if (args.json == Json::yes) {
      print_json(report, std::cout);
    } else {
      print_markdown(report, std::cout);
    }
    std::cout.flush();
    return std::cout ? report.verdict : 2;
  } catch (const std::exception& error) {
    std::cerr << "warder audit report: " << audit::printable(error.what()) << "\n";
    return 2;
  }
}

}  // namespace warder
