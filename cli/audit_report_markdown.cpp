// A report as Markdown: its tables are ours, and nothing in them is markup.
#include <ostream>
#include <string_view>

#include "audit/json_text.hpp"
#include "cli/audit_report.hpp"

namespace warder {
namespace {

using Row = std::vector<std::string>;

// Also no link that a reader of Markdown makes out of an address by itself.
std::string plain(std::string_view text) {
  const std::string shown = audit::harmless(text);
  std::string out;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::string_view rest = std::string_view(shown).substr(i);
    const bool marks =
        std::string_view("\\`*_{}[]()<>#!|~&@").find(rest[0]) != std::string_view::npos;
    const bool begins = i == 0 && std::string_view("-+=").find(rest[0]) != std::string_view::npos;
    if (marks || begins || rest.starts_with("://")) out += '\\';
    out += rest[0];
    if (!rest.starts_with("www.")) continue;
    out += "ww\\.";
    i += 3;
  }
  return out;
}

void row(std::ostream& out, const Row& cells) {
  out << "|";
  for (const std::string& cell : cells) out << ' ' << plain(cell) << " |";
  out << "\n";
}

void table(std::ostream& out, std::string_view title, const Row& head, const std::vector<Row>& rows,
           std::uint64_t more = 0) {
  out << "\n## " << title << "\n\n";
  if (rows.empty()) {
    out << "None.\n";
    return;
  }
  row(out, head);
  out << "|";
  for (std::size_t i = 0; i < head.size(); ++i) out << "---|";
  out << "\n";
  for (const Row& cells : rows) row(out, cells);
  if (more > 0) out << "\nAnd " << more << " more: `warder audit query` shows them.\n";
}

void events(std::ostream& out, std::string_view title, Row head, const EventList& list) {
  head.insert(head.begin(), {"time", "session", "record"});
  std::vector<Row> rows;
  for (const Event& event : list.events) {
    Row cells{event.time, event.session, event.file + " " + std::to_string(event.seq)};
    cells.insert(cells.end(), event.words.begin(), event.words.end());
    rows.push_back(std::move(cells));
  }
  table(out, title, head, rows, list.more);
}

template <class Map, class Cells>
std::vector<Row> rows_of(const Map& map, Cells cells) {
  std::vector<Row> rows;
  for (const auto& [key, value] : map) rows.push_back(cells(key, value));
  return rows;
}

std::string text(std::uint64_t number) { return std::to_string(number); }

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

void verification(const AuditReport& report, std::ostream& out) {
  out << "# Audit report\n\n**"
      << (report.verdict == 0   ? "Verified: every record is there and intact."
          : report.verdict == 1 ? "NOT INTACT: do not rely on what follows."
                                : "NOT VERIFIED: do not rely on what follows.")
      << "**\n\n";
  for (const audit::FileVerification& file : report.verification) {
    const audit::Verification& result = file.result;
    const bool intact = result.outcome == audit::Verification::Outcome::intact;
    out << "- " << plain(file.file.string()) << ": "
        << (intact ? "intact"
            : result.outcome == audit::Verification::Outcome::broken
                ? "broken, " + plain(result.kind) + " at record " + text(result.bad_sequence)
                : "unreadable");
    if (!result.detail.empty()) out << ": " << plain(result.detail);
    out << "; " << result.records << " records, signed up to " << result.covered;
    if (intact) out << (result.anchored ? "; anchored" : "; its end is not anchored");
    if (result.running) out << "; a gateway still writes it";
    if (result.crashes > 0) out << "; " << result.crashes << " restarts after a crash";
    if (result.open_intents > 0) out << "; " << result.open_intents << " exchanges without an end";
    out << "; root " << plain(result.root) << "; trusted key " << plain(result.key) << "\n";
  }
  for (const std::string& file : report.changed)
    out << "- " << plain(file) << ": **changed after it was verified**\n";
  out << "\nTold: " << plain(report.scope) << ", " << report.records << " records.";
  if (report.not_records > 0) out << " " << report.not_records << " lines are no records.";
  out << "\n";
}

void sessions(const AuditReport& report, std::ostream& out) {
  table(out, "Sessions",
        {"session", "from", "to", "who", "command", "policy", "secrets", "ended", "exchanges",
         "refused"},
        rows_of(report.sessions, [](const std::string& id, const SessionStory& story) {
          std::string who = story.user;
          if (!story.uid.empty()) who += " (uid " + story.uid + ")";
          if (!story.host.empty()) who += " on " + story.host;
          const std::string end = story.ended.empty()
                                      ? "no end is recorded"
                                      : story.how + " " + std::to_string(story.exit_code);
          return Row{id,
                     story.started,
                     story.ended,
                     who,
                     joined(story.command),
                     story.policy + " " + story.policy_sha256.substr(0, 12) + " " + story.mode,
                     joined(story.secrets),
                     end,
                     text(story.exchanges),
                     text(story.refused)};
        }));
}

}  // namespace

void print_markdown(const AuditReport& report, std::ostream& out) {
  verification(report, out);
  sessions(report, out);
  table(out, "Hosts",
        {"host", "allowed", "observed", "refused", "failed", "bytes up", "bytes down"},
        rows_of(report.hosts, [](const std::string& host, const HostStory& story) {
          return Row{host,
                     text(story.allowed),
                     text(story.observed),
                     text(story.refused),
                     text(story.failed),
                     text(story.bytes_up),
                     text(story.bytes_down)};
        }));
  const auto two = [](const auto& key, std::uint64_t count) {
    return Row{std::get<0>(key), std::get<1>(key), text(count)};
  };
  table(out, "Secrets used", {"secret", "host", "place", "count"},
        rows_of(report.secrets, [](const auto& key, std::uint64_t count) {
          return Row{std::get<0>(key), std::get<1>(key), std::get<2>(key), text(count)};
        }));
  table(out, "Secrets masked in answers", {"secret", "place", "count"},
        rows_of(report.masked, two));
  table(out, "Refused or failed", {"reason", "where to", "count"}, rows_of(report.refusals, two));
  events(out, "Tripwires", {"reason", "method", "where to", "rule"}, report.tripwires);
  events(out, "Approvals", {"decision", "scope", "method", "where to", "who", "how"},
         report.approvals);
  events(out, "Changes of policies and secrets", {"what", "change", "by", "detail"},
         report.changes);
  const auto one = [](const std::string& name, std::uint64_t count) {
    return Row{name, text(count)};
  };
  table(out, "Programs", {"program", "count"}, rows_of(report.programs, one));
  table(out, "Files changed", {"change", "file", "count"}, rows_of(report.files, two));
  events(out, "Limits", {"limit", "value", "state", "used"}, report.limits);
  if (!report.other_types.empty())
    table(out, "Records of types that this version does not know", {"type", "count"},
          rows_of(report.other_types, one));
}

}  // namespace warder
