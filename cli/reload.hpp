// Puts another configuration in the place of the one that counts, while sandboxes run: whole, or not at all.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "admin/server.hpp"
#include "audit/log.hpp"
#include "cli/current_config.hpp"
#include "cli/secret_store.hpp"
#include "proxy/sessions.hpp"

namespace warder {

inline constexpr const char* kReloadPath = "/v1/reload";

class Reload {
 public:
  static constexpr std::size_t kMostLines = 100;  // of a difference that is shown
  struct Parts {
    CurrentConfig& config;
    SecretStore& store;
    Sessions& sessions;
    audit::Log& log;
    std::function<Config()> load;  // throws ConfigError; what it returns may name no new `gateway`
    // Does it fit what the sandboxes that run can see? Throws ConfigError: what would have to be covered is not.
    std::function<void(const Config&)> check;
    // Of which secrets are read; empty: of all.
    std::string policy;
  };
  explicit Reload(Parts parts) : parts_(std::move(parts)) {}

  struct Outcome {
    std::string error;               // one sentence; empty: it counts from now on
    std::size_t sessions = 0;        // whose policy has changed
    std::set<std::string> shown;     // policies
    std::vector<std::string> lines;  // of the configuration: "+ new", "- old"
    std::string said() const;        // for a person: a line, and these behind it
  };
  // Any thread, one at a time. `by` is recorded: "SIGHUP", "uid 1000".
  Outcome run(const std::string& by);
  // POST kReloadPath: 200, or 409 and nothing has changed.
  AdminReply answer(const AdminRequest& request);

 private:
  struct Change;
  // Of the sessions that are not `seen` yet.
  std::vector<Change> changes_to(const Config& next, const Config& before,
                                 std::set<std::string>& seen) const;
  bool record(std::vector<Change>& changes, const std::string& by);
  void carry_out(std::vector<Change>& changes, Outcome& outcome);
  Outcome refused(const std::string& why, const std::string& by);

  const Parts parts_;
  std::mutex mutex_;
};

// What became of one text to make it the other: "- old", "+ new".
std::vector<std::string> changed_lines(const std::string& before, const std::string& next);
// What a reload cannot change: the sentence that says so, or empty.
std::string unchangeable(const Config& before, const Config& next);

}  // namespace warder
