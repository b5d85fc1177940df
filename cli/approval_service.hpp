// The part of an admin socket where somebody sees what waits for an answer, and gives one:
//
//   GET  /v1/approvals      a list of open questions
//   POST /v1/approvals/ID   {"answer": "allow", "for": "once" | "10m", "count": 1} or {"answer": "deny"}
//
// docs/approvals.md has the fields. An answer is on the disk before the request hears of it.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "admin/server.hpp"
#include "audit/log.hpp"
#include "base/clock.hpp"
#include "proxy/sessions.hpp"

namespace warder {

inline constexpr std::string_view kApprovalsPath = "/v1/approvals";

class ApprovalService {
 public:
  ApprovalService(const Sessions& sessions, audit::Log& log, const Clock& clock)
      : sessions_(sessions), log_(log), clock_(clock) {}

  // On an admin thread. nullopt: the path is for others.
  std::optional<AdminReply> answer(const AdminRequest& request) const;

 private:
  AdminReply list() const;
  AdminReply decide(const AdminRequest& request, const std::string& id) const;

  const Sessions& sessions_;
  audit::Log& log_;
  const Clock& clock_;
};

// "90s", "10m", "2h": from a second to a day.
std::optional<std::chrono::seconds> approval_time_of(std::string_view text);

}  // namespace warder
