// Looks after the secrets while sessions run: one thread that asks their sources, tells every session, and has it recorded.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "audit/log.hpp"
#include "cli/secret_store.hpp"
#include "proxy/sessions.hpp"

namespace warder {

class SecretWatch {
 public:
  // Between two looks. A file is taken when it has been the same for two of them: so within half a second.
  static constexpr std::chrono::milliseconds kLook{250};
  struct Parts {
    SecretStore& store;
    Sessions& sessions;
    audit::Log& log;
    std::function<void(const std::string&)>
        tell;  // lines for the person, on the watch's thread; may be empty
  };
  explicit SecretWatch(Parts parts);
  ~SecretWatch();  // stop()

  // Ends the thread, and what a slow source is doing. The log must still be open, the sessions still there.
  void stop();

 private:
  void watch(const std::stop_token& stop);
  void update_sessions();
  void record(const std::string& session, const SecretStore::Change& change);

  const Parts parts_;
  std::jthread thread_;
};

}  // namespace warder
