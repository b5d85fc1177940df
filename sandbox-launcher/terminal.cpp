#include "sandbox-launcher/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace warder {
namespace {

// From the background, where CMD's own group left us, setting the terminal would stop us.
class WithoutStopping {
 public:
  WithoutStopping() {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTTOU);
    ::pthread_sigmask(SIG_BLOCK, &stop, &before_);
  }
  ~WithoutStopping() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutStopping(const WithoutStopping&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

BorrowedTerminal::BorrowedTerminal() : terminal_(::open("/dev/tty", O_RDWR | O_CLOEXEC)) {
  if (!terminal_) return;
  if (::tcgetattr(terminal_.get(), &modes_) != 0) terminal_.reset();
  was_in_foreground_ = in_foreground();
}

BorrowedTerminal::~BorrowedTerminal() {
  if (!terminal_ || !was_in_foreground_) return;
  const WithoutStopping guard;
  ::tcsetpgrp(terminal_.get(), ::getpgrp());
  ::tcsetattr(terminal_.get(), TCSADRAIN, &modes_);
}

bool BorrowedTerminal::in_foreground() const {
  return terminal_ && ::tcgetpgrp(terminal_.get()) == ::getpgrp();
}

void BorrowedTerminal::take_back() {
  if (!terminal_) return;
  const WithoutStopping guard;
  ::tcsetpgrp(terminal_.get(), ::getpgrp());
}

}  // namespace warder
