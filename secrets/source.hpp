// Where a secret's value comes from, for as long as it is used: the interface that every kind of source has.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "secrets/secret_value.hpp"

namespace warder {

using SourceTime = std::chrono::steady_clock::time_point;
using SourceDuration = std::chrono::steady_clock::duration;

// What a source says at one moment. Its sentences tell what is wrong and never quote a value.
struct Reading {
  enum class State : std::uint8_t {
    value,    // here it is
    failing,  // it cannot be told: what was known stays in use, for as long as it was good for
    gone,     // it was taken away on purpose: after `grace` it is revoked
  };
  State state = State::failing;
  std::shared_ptr<const SecretValue> value;
  std::string problem;   // failing, gone: a sentence
  unsigned version = 0;  // the source's own count; 0: it keeps none
  SourceDuration
      lifetime{};  // how long the value may be used from now on; 0: until the source says otherwise
  SourceDuration grace{};  // gone: it may come back meanwhile, and nothing has happened
  std::string said;        // what a helper said besides, for the person: printable, cut

  static Reading of(SecretValue value);
  static Reading failed(std::string problem);
};

// One secret's source. To add a kind (a vault that leases, a service that mints tokens):
//   1. one file secrets/source_NAME.{hpp,cpp} with a class of this interface and a function that makes it;
//   2. its keys in config/source.cpp, its line in config/to_yaml.cpp and summary.cpp;
//   3. its line in cli/make_source.cpp, and its row in docs/secrets.md.
// What it need not care for: threads (one call at a time), when to be asked again before `lifetime` ends, keeping the old
// value while it fails, telling the sessions, the audit record. SecretLife (secret_life.hpp) and cli/secret_watch do that.
class SecretSource {
 public:
  virtual ~SecretSource() = default;

  // The value as it is now. A source that may take long says so below, gives up when `stop` is requested, and bounds its
  // own time. Every value has passed refuse_value(). Throws only what making a SecretValue throws.
  virtual Reading read(std::stop_token stop) = 0;

  // Has something changed since read(), as far as a quick look tells? Asked several times a second. A source that only time
  // can tell of answers false: `lifetime` brings the next read().
  virtual bool looks_changed() { return false; }

  // read() waits for a program or a network: it gets a thread of its own while it runs.
  virtual bool is_slow() const { return false; }
};

// `plain` as a value, or failing: "the value of " + source + what refuse_value() says.
Reading checked_value(std::string_view plain, const std::string& source);
// Without exactly one line break at its end, "\n" or "\r\n".
std::string_view without_line_break(std::string_view text);
// The bytes of a helper or file in a form that a terminal cannot obey, at most `most` of them.
std::string printable_text(std::string_view text, std::size_t most);

}  // namespace warder
