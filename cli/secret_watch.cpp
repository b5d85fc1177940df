#include "cli/secret_watch.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

namespace warder {

SecretWatch::SecretWatch(Parts parts)
    : parts_(std::move(parts)), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

SecretWatch::~SecretWatch() { stop(); }

void SecretWatch::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void SecretWatch::watch(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any until;
  std::string last_failure;
  while (!stop.stop_requested()) {
    // What could not be done, for want of memory say, is done by a later turn: each compares everything anew.
    try {
      const auto lines = parts_.store.look(std::chrono::steady_clock::now(), stop);
      for (const std::string& line : lines) {
        if (parts_.tell) parts_.tell(line);
      }
      update_sessions();
    } catch (const std::exception& error) {
      if (parts_.tell && last_failure != error.what())
        parts_.tell("secrets could not be brought up to date: " + std::string(error.what()));
      last_failure = error.what();
    }
    std::unique_lock lock(mutex);
    until.wait_for(lock, stop, kLook, [] { return false; });
  }
}

// Every time, whether or not something has changed: a session may have begun with what was true a moment ago.
void SecretWatch::update_sessions() {
  for (const auto& session : parts_.sessions.list()) {
    for (const auto& change : parts_.store.update(session->secrets)) {
      record(session->id, change);
      if (session->announce)
        session->announce("secret " + change.secret + ": " + to_string(change.event));
    }
  }
  for (const auto& change : parts_.store.update_own()) record("", change);
}

// What cannot be recorded is not undone: a log that fails refuses every exchange from then on.
void SecretWatch::record(const std::string& session, const SecretStore::Change& change) {
  audit::SecretChange event{session, change.secret, change.version, to_string(change.event)};
  parts_.log.append(std::move(event), audit::Durability::accepted, 0, [](bool, std::uint64_t) {});
}

}  // namespace warder
