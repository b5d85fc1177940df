// What a session leaves in the audit log besides its exchanges: its start and its end. For threads without a loop.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audit/burst.hpp"
#include "audit/log.hpp"
#include "base/bounds.hpp"
#include "cli/run_records.hpp"
#include "config/config.hpp"
#include "proxy/session.hpp"

namespace warder {

// What the person is told of a session that observes, at its start and at its end.
inline constexpr const char* kObserving =
    "OBSERVE MODE: what no rule allows is let through all the same, and recorded; deny rules, "
    "tripwires and the address check still refuse";
inline std::string observed_line(std::uint64_t count) {
  return "OBSERVE MODE: " + std::to_string(count) +
         (count == 1 ? " request that no rule allows was" : " requests that no rule allows were") +
         " let through";
}

// The log that one gateway writes. Throws RunRefused (exit 2) that names who else holds it or what is wrong with it.
std::unique_ptr<audit::Log> open_audit_log(const std::filesystem::path& file,
                                           const std::string& run, const Clock& clock);

// Waits until it is on the disk. False: it could not be written.
bool record_now(audit::Log& log, audit::Record what);

// Waits until the record is on the disk: its sequence. nullopt: it cannot be written.
std::optional<std::uint64_t> record_at_once(audit::Log& log, audit::Record what);
// Whose session it is.
struct SessionOrigin {
  std::int64_t uid = -1;  // by the kernel's word
  std::filesystem::path cwd{};
  std::string profile{};
};
// False: it could not be written, and nothing may begin. `command`: what runs in it, or how it comes in.
bool record_start(audit::Log& log, const Session& session, const Config& config,
                  const std::vector<std::string>& command, const SessionOrigin& origin);
// The refused strangers of a listener that were only counted so far, by their number.
bool record_rest(audit::Log& log, Session& session, audit::Burst& strangers);
// Text of the sandbox's as a record shows it: values and placeholders of its secrets as [secret:NAME], and none that
// holds another credential.
std::string recorded_text(const Session& session, const std::string& text);
// What ran in the session. It has to outlive that.
std::unique_ptr<RunRecords> records_of(audit::Log& log, const Session& session,
                                       RunRecords::Teller teller);
// What holds each bound of the sandbox; later, those that stopped something.
bool record_held(audit::Log& log, const Session& session, const std::vector<HeldBound>& bounds);
bool record_reached(audit::Log& log, const Session& session, const std::vector<HeldBound>& bounds);
// `records`: of what ran in it; null: nobody saw that. `is_gone`: its runner went without a word.
bool record_end(audit::Log& log, const Session& session, int exit_code,
                const RunRecords* records = nullptr, bool is_gone = false);

}  // namespace warder
