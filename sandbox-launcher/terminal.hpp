// The terminal that a sandbox borrows: as it was before, whatever the workload did to it.
#pragma once

#include <termios.h>

#include "base/fd.hpp"

namespace warder {

class BorrowedTerminal {
 public:
  BorrowedTerminal();  // notes modes and foreground group of the controlling terminal, if there is one
  ~BorrowedTerminal();  // puts them back
  BorrowedTerminal(const BorrowedTerminal&) = delete;

  // Are we the foreground job now?
  bool in_foreground() const;
  // Makes our process group the foreground one again.
  void take_back();

 private:
  Fd terminal_;
  termios modes_{};
  bool was_in_foreground_ = false;
};

}  // namespace warder
