#include "cli/audit_read_commands.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "audit/anchor.hpp"
#include "audit/format.hpp"
#include "audit/json_text.hpp"
#include "audit/reader.hpp"
#include "cli/audit_sources.hpp"
#include "cli/ocsf.hpp"
#include "cli/record_text.hpp"

namespace warder {
namespace {

int complain(const char* command, const std::exception& error) {
  std::cerr << "warder audit " << command << ": " << audit::printable(error.what()) << "\n";
  return 2;
}

// Lines of a file that grows.
class Tail {
 public:
  explicit Tail(const std::filesystem::path& file) : file_(file) {
    std::string why;
    fd_ = audit::open_for_reading(file, why);
    if (!fd_) throw std::runtime_error(why);
  }

  // What is there by now. false: the file is shorter than what was read of it.
  template <class Take>
  bool read(Take take) {
    std::array<char, 64 * 1024> buffer;
    for (;;) {
      const ssize_t n = ::read(fd_.get(), buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw std::runtime_error(file_.string() + ": " + std::strerror(errno));
      if (n == 0) break;
      at_ += n;
      feed({buffer.data(), static_cast<std::size_t>(n)}, take);
    }
    struct stat info{};
    return ::fstat(fd_.get(), &info) != 0 || info.st_size >= at_;
  }

 private:
  template <class Take>
  void feed(std::string_view bytes, Take& take) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      // What is longer than any record is none: the rest of such a line need not be kept.
      if (begun_.size() <= audit::kMaxRecordBytes) begun_ += bytes.substr(0, end);
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      take(std::string_view(begun_));
      begun_.clear();
    }
  }

  std::filesystem::path file_;
  Fd fd_;
  off_t at_ = 0;
  std::string begun_;
};

std::string shown(std::string_view bytes, Colours colours) {
  const auto line = audit::read_line(bytes);
  return line ? record_text(*line, colours) : "(a line that is no record)";
}

int tail(const AuditTailArgs& args) {
  Tail file(args.file.empty() ? last_run_file() : args.file);
  const Colours colours = colours_of_stdout();
  std::deque<std::string> last;
  file.read([&](std::string_view bytes) {
    last.emplace_back(bytes);
    if (last.size() > args.lines) last.pop_front();
  });
  for (const std::string& bytes : last) std::cout << shown(bytes, colours) << "\n";
  std::cout.flush();
  while (args.follow && std::cout) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const bool whole =
        file.read([&](std::string_view bytes) { std::cout << shown(bytes, colours) << "\n"; });
    std::cout.flush();
    if (whole) continue;
    std::cerr
        << "warder audit tail: the file is shorter than it was; warder audit verify says more\n";
    return 1;
  }
  return std::cout ? 0 : 2;
}

int query(const AuditQueryArgs& args) {
  RecordCriteria wanted = args.wanted;
  const auto now = std::chrono::system_clock::now();
  for (std::string* moment : {&wanted.since, &wanted.until})
    if (!moment->empty()) *moment = moment_of(*moment, now);
  RecordMatcher matcher(wanted);
  std::uint64_t found = 0;
  std::uint64_t not_records = 0;
  const Colours colours = colours_of_stdout();
  for (const auto& file : args.files.empty() ? state_audit_files() : args.files) {
    matcher.next_file();
    const audit::ReadCounts counts =
        audit::read_records(file, [&](const audit::ReadRecord& record) {
          if (!matcher.matches(record.line)) return;
          ++found;
          if (args.json == Json::yes) {
            std::cout << record.bytes << "\n";
          } else {
            std::cout << record_text(record.line, colours) << "\n";
          }
        });
    not_records += counts.not_records;
  }
  std::cout.flush();
  if (not_records > 0) {
    std::cerr << "warder audit query: " << not_records
              << " lines are no records and were left out; warder audit verify says more\n";
  }
  return !std::cout ? 2 : found > 0 ? 0 : 1;
}

// Not verified: a SIEM gets what there is, and what it is not told is not covered by silence.
int export_ocsf(const AuditExportArgs& args) {
  std::uint64_t not_records = 0;
  for (const auto& file : args.files.empty() ? state_audit_files() : args.files) {
    OcsfMapper mapper;
    const audit::ReadCounts counts =
        audit::read_records(file, [&](const audit::ReadRecord& record) {
          for (const boost::json::object& event : mapper.events(record))
            std::cout << audit::harmless(boost::json::serialize(event)) << "\n";
        });
    not_records += counts.not_records;
  }
  std::cout.flush();
  if (not_records == 0) return std::cout ? 0 : 2;
  std::cerr << "warder audit export: " << not_records
            << " lines are no records and were left out; warder audit verify says more\n";
  return 2;
}

}  // namespace

int audit_export_command(const AuditExportArgs& args) {
  try {
    return export_ocsf(args);
  } catch (const std::exception& error) {
    return complain("export", error);
  }
}

int audit_tail_command(const AuditTailArgs& args) {
  try {
    return tail(args);
  } catch (const std::exception& error) {
    return complain("tail", error);
  }
}

int audit_query_command(const AuditQueryArgs& args) {
  try {
    return query(args);
  } catch (const std::exception& error) {
    return complain("query", error);
  }
}

}  // namespace warder
