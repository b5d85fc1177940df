// What verify_set found, in words and as JSON.
#include <ostream>
#include <string_view>

#include "audit/json_text.hpp"
#include "audit/verify_set.hpp"

namespace warder::audit {
namespace {

constexpr std::size_t kLimit = 4096;

std::string_view word(Verification::Outcome outcome) {
  switch (outcome) {
    case Verification::Outcome::intact: return "intact";
    case Verification::Outcome::broken: return "broken";
    case Verification::Outcome::unreadable: break;
  }
  return "unreadable";
}

std::string anchor_words(const Verification& result) {
  if (result.anchored) return "anchored: a checkpoint kept elsewhere covers every record";
  return "not anchored: nothing outside this file tells whether records after its last one were "
         "cut";
}

void line(std::ostream& out, std::string_view name, std::string_view value) {
  out << "  " << name << std::string(12 - name.size(), ' ') << printable(value) << "\n";
}

void report_text(const FileVerification& file, std::ostream& out) {
  const Verification& result = file.result;
  out << word(result.outcome) << ": " << printable(file.file.string()) << "\n";
  if (result.outcome == Verification::Outcome::broken) {
    line(out, "kind", result.kind);
    line(out, "at",
         "record " + std::to_string(result.bad_sequence) + ", byte " +
             std::to_string(result.bad_offset));
  }
  if (!result.detail.empty()) line(out, "because", result.detail);
  if (result.outcome != Verification::Outcome::unreadable) {
    line(out, "records", std::to_string(result.records));
    line(out, "checkpoints",
         std::to_string(result.checkpoints) + ", the last covers " +
             std::to_string(result.covered) + " records");
    if (!result.root.empty()) line(out, "root", result.root);
    if (!result.origin.empty()) line(out, "log", result.origin);
  }
  if (!result.key.empty()) line(out, "trusted", result.key);
  if (result.outcome != Verification::Outcome::intact) return;
  line(out, "tail", anchor_words(result));
  if (result.running)
    line(out, "running", "a gateway holds the file: this is what it wrote so far");
  if (result.crashes > 0) {
    line(out, "crashes",
         std::to_string(result.crashes) + " restarts after a run that did not close the log");
  }
  if (result.open_intents > 0) {
    line(out, "open", std::to_string(result.open_intents) + " allowed exchanges without receipt");
  }
}

void members_of(Members& members, const FileVerification& file) {
  const Verification& result = file.result;
  members.text("file", file.file.string(), kLimit)
      .text("outcome", word(result.outcome), kLimit)
      .text("kind", result.kind, kLimit)
      .number("bad_sequence", result.bad_sequence)
      .number("bad_offset", result.bad_offset)
      .text("detail", result.detail, kLimit)
      .number("records", result.records)
      .number("checkpoints", result.checkpoints)
      .number("covered", result.covered)
      .text("root", result.root, kLimit)
      .text("origin", result.origin, kLimit)
      .text("previous", result.previous, kLimit)
      .text("key", result.key, kLimit)
      .flag("anchored", result.anchored)
      .flag("closed", result.closed)
      .flag("running", result.running)
      .number("crashes", result.crashes)
      .number("open_intents", result.open_intents);
}

void report_json(const std::vector<FileVerification>& files, std::ostream& out) {
  const int code = exit_code(files);
  out << R"({"outcome":")"
      << (code == 0   ? "intact"
          : code == 1 ? "broken"
                      : "unreadable")
      << R"(","files":[)";
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::string object = i == 0 ? "{" : ",{";
    Members members(object);
    members_of(members, files[i]);
    out << object << "}";
  }
  out << "]}\n";
}

}  // namespace

void report(const std::vector<FileVerification>& files, ReportForm form, std::ostream& out) {
  if (form == ReportForm::json) return report_json(files, out);
  for (const FileVerification& file : files) report_text(file, out);
}

}  // namespace warder::audit
