#include "cli/summon.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.hpp"
#include "cli/guard.hpp"

namespace warder {
namespace {

constexpr std::size_t kLongest = 200;

}  // namespace

std::string notification_of(const std::string& line) {
  // "9;" and then a word, never a digit: "9;4;…" is a progress bar to some.
  std::string out = "\x1b]9;warder: ";
  for (const char c : line.substr(0, kLongest)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return out + "\x07\x07";  // the first one ends the sequence, the second one rings
}

void summon(const std::string& line) {
  const Fd terminal(::isatty(STDERR_FILENO) == 1
                        ? ::open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
                        : -1);
  if (!terminal) return say(line);
  const std::string text = notification_of(line);
  // In the background a terminal may be set to stop who writes.
  sigset_t stops;
  ::sigemptyset(&stops);
  ::sigaddset(&stops, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  // At once, so that nothing of CMD's stands in the middle of it.
  (void)!::write(terminal.get(), text.data(), text.size());
}

}  // namespace warder
