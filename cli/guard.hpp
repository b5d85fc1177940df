// What a command says on stderr, and how what went wrong becomes a line and an exit code.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include "config/config.hpp"

namespace warder {

inline void say(const std::string& line) { std::fprintf(stderr, "warder: %s\n", line.c_str()); }

// What was refused before anything ran: says what and how to mend it. Exit code 2 or 125.
struct RunRefused : std::runtime_error {
  RunRefused(const std::string& message, int code) : std::runtime_error(message), exit_code(code) {}
  int exit_code;
};

template <class Command>
int guarded(Command command) {
  try {
    return command();
  } catch (const ConfigError& error) {
    say(error.what());
    return 2;
  } catch (const RunRefused& error) {
    say(error.what());
    return error.exit_code;
  } catch (const std::exception& error) {
    say(std::string(error.what()) + "; nothing was run");
    return 125;
  }
}

}  // namespace warder
