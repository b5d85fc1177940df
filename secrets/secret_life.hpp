// One secret's life: from what its source says at each moment to what happens to those who use it. Pure: is given the time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "secrets/source.hpp"

namespace warder {

enum class SecretEvent : std::uint8_t {
  none,
  rotated,      // another value, from now on
  revoked,      // no value, and sessions that have it will never have one again
  unavailable,  // no value for now: requests that need it are refused
  restored,     // there is one again
};
const char* to_string(SecretEvent event);

class SecretLife {
 public:
  static constexpr std::chrono::seconds kFirstRetry{1};
  static constexpr std::chrono::seconds kLastRetry{30};

  // Of a first reading that has a value.
  SecretLife(const Reading& first, SourceTime now);

  // What a read() said. `warning` is a sentence for the person: once when it begins to fail, once when it is well again.
  struct Step {
    SecretEvent event = SecretEvent::none;
    std::string warning;
  };
  Step take(const Reading& reading, SourceTime now);
  // What the time alone brings: a value grows too old, a file has stayed away.
  Step pass(SourceTime now);
  // Should the source be read for the time's sake: before the value is too old, or to try again?
  bool is_due(SourceTime now) const { return next_ && *next_ <= now; }

  // null: revoked or unavailable.
  const std::shared_ptr<const SecretValue>& value() const { return value_; }
  // The value or, when there is none, the last one: never to be used, always to be masked.
  const std::shared_ptr<const SecretValue>& last_value() const { return last_; }
  unsigned version() const { return version_; }
  bool is_revoked() const { return is_revoked_; }

 private:
  Step take_value(const Reading& reading, SourceTime now);
  Step lose(SecretEvent how, std::string why);

  std::shared_ptr<const SecretValue> value_;
  std::shared_ptr<const SecretValue> last_;
  unsigned version_ = 1;
  bool is_revoked_ = false;
  bool is_warned_ = false;
  std::string problem_;             // of the reading that failed last
  std::optional<SourceTime> next_;  // when to read again
  std::optional<SourceTime> expires_;
  std::optional<SourceTime> revoke_at_;
  SourceDuration retry_{};
};

}  // namespace warder
