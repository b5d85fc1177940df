// Puts another configuration in the place of the one that counts, while sandboxes run: whole, or not at all.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "audit/log.hpp"
#include "cli/current_config.hpp"
#include "cli/secret_store.hpp"
#include "proxy/sessions.hpp"

namespace warder {

class Reload {
 public:
  struct Parts {
    CurrentConfig& config;
    SecretStore& store;
    Sessions& sessions;
    audit::Log& log;
    std::function<Config()> load;  // throws ConfigError; what it returns may name no new `gateway`
  };
  explicit Reload(Parts parts) : parts_(std::move(parts)) {}

  struct Outcome {
    std::string error;         // one sentence; empty: it counts from now on
    std::size_t sessions = 0;  // whose policy has changed
    std::string said() const;  // a line for a person
  };
  // Any thread, one at a time. `by` is recorded: "SIGHUP", "uid 1000".
  Outcome run(const std::string& by);

 private:
  struct Change;
  std::vector<Change> changes_to(const Config& next) const;
  Outcome refused(const std::string& why, const std::string& by);

  const Parts parts_;
  std::mutex mutex_;
};

// What a reload cannot change: the sentence that says so, or empty.
std::string unchangeable(const Config& before, const Config& next);

}  // namespace warder
