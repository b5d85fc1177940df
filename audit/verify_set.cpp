#include "audit/verify_set.hpp"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <set>
#include <tuple>

#include "audit/anchor.hpp"
#include "audit/history.hpp"
#include "audit/json_text.hpp"
#include "audit/walk.hpp"

namespace warder::audit {
namespace {

namespace fs = std::filesystem;

struct Member {
  fs::path file;
  std::string origin;
  std::string time;
  std::optional<PreviousRun> previous;
  VerifyOptions options;
};

Member read_header(const fs::path& file) {
  Member member{file, {}, {}, {}, {}};
  std::string why;
  const Fd fd = open_for_reading(file, why);
  if (!fd) return member;
  LineReader reader(fd.get());
  const RawLine* raw = reader.next();
  const auto line = raw != nullptr ? ParsedLine::parse(raw->bytes) : std::nullopt;
  if (!line) return member;
  member.origin = line->text("origin");
  member.time = line->stamp.time;
  member.previous = PreviousRun::parse(line->text("previous"));
  return member;
}

std::vector<Member> read_headers(const SetOptions& options) {
  std::vector<Member> members;
  for (const fs::path& named : options.files) {
    std::error_code error;
    if (fs::is_directory(named, error)) {
      for (const fs::path& file : audit_files(named)) members.push_back(read_header(file));
    } else {
      members.push_back(read_header(named));
    }
  }
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::tie(a.time, a.file) < std::tie(b.time, b.file);
  });
  for (Member& member : members) {
    member.options.file = member.file;
    member.options.vkey = options.vkey;
    member.options.vkey_from = options.vkey_from;
  }
  return members;
}

FileVerification verdict(const fs::path& file, Verification::Outcome outcome, std::string kind,
                         std::string detail) {
  FileVerification entry{file, {}};
  entry.result.outcome = outcome;
  entry.result.kind = std::move(kind);
  entry.result.detail = std::move(detail);
  return entry;
}

// One file gets every anchor; among several, each gets those of its own log.
void deal_anchors(const SetOptions& options, std::vector<Member>& members,
                  std::vector<FileVerification>& problems) {
  using Outcome = Verification::Outcome;
  if (members.size() == 1) {
    members.front().options.anchors = options.anchors;
    return;
  }
  for (const fs::path& anchor : options.anchors) {
    std::string why;
    const auto note = read_anchor(anchor, why);
    if (!note) {
      problems.push_back(verdict(anchor, Outcome::unreadable, "", why));
      continue;
    }
    const auto owner = std::find_if(members.begin(), members.end(), [&](const Member& member) {
      return member.origin == note->checkpoint.origin;
    });
    if (owner != members.end()) {
      owner->options.anchors.push_back(anchor);
    } else {
      problems.push_back(
          verdict(anchor, Outcome::broken, "deleted",
                  "no file here is the log of this anchor, " + note->checkpoint.origin));
    }
  }
}

// The names of missing runs; the oldest file's may be missing, it was kept no longer.
std::set<fs::path> link_runs(std::vector<Member>& members) {
  std::set<fs::path> orphans;
  std::string oldest_missing;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members[i].previous) continue;
    const PreviousRun& previous = *members[i].previous;
    const auto before = std::find_if(members.begin(), members.end(), [&](const Member& member) {
      return member.file.filename() == previous.file;
    });
    if (before != members.end()) {
      before->options.witnesses.push_back(previous);
    } else if (i == 0) {
      oldest_missing = previous.file;
    } else if (previous.file != oldest_missing) {
      orphans.insert(members[i].file);
    }
  }
  return orphans;
}

}  // namespace

std::vector<FileVerification> verify_set(const SetOptions& options) {
  using Outcome = Verification::Outcome;
  std::vector<FileVerification> results;
  std::vector<Member> members = read_headers(options);
  if (members.empty()) {
    return {verdict(options.files.empty() ? fs::path() : options.files.front(), Outcome::unreadable,
                    "", "there is no audit file")};
  }
  std::vector<FileVerification> problems;
  deal_anchors(options, members, problems);
  const std::set<fs::path> orphans = link_runs(members);
  for (const Member& member : members) {
    FileVerification entry{member.file, verify(member.options)};
    if (entry.result.outcome == Outcome::intact && orphans.contains(member.file)) {
      entry.result.outcome = Outcome::broken;
      entry.result.kind = "gap";
      entry.result.detail = "the run before it is missing: " + member.previous->file;
    }
    results.push_back(std::move(entry));
  }
  std::move(problems.begin(), problems.end(), std::back_inserter(results));
  return results;
}

int exit_code(const std::vector<FileVerification>& files) {
  int code = files.empty() ? 2 : 0;
  for (const FileVerification& file : files) {
    if (file.result.outcome == Verification::Outcome::broken) return 1;
    if (file.result.outcome == Verification::Outcome::unreadable) code = 2;
  }
  return code;
}

}  // namespace warder::audit
