// What the inside of a sandbox says while it runs, and who says it: the socket carries each writer's process id, as it
// is known out here, which the writer itself, in namespaces of its own, does not know.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.hpp"

namespace warder {

class Status {
 public:
  // The other end is put into `theirs`. False: it cannot be made; errno says why.
  bool open(Fd& theirs);
  int fd() const { return socket_.get(); }
  // Takes what is there to be read, without waiting.
  void take();

  // The first process of the run's own process namespace, whose death ends all of it; -1: not heard of yet.
  pid_t first() const { return first_; }
  // The first process inside the sandbox, which passes signals on to CMD; -1: not heard of yet.
  pid_t init() const { return init_; }
  // Has CMD stopped (Ctrl-Z) since it was asked last?
  bool take_stopped();
  // CMD's, as bubblewrap says it; `otherwise` when CMD had not begun.
  int exit_code(int otherwise) const;

 private:
  Fd socket_;
  std::string said_;
  pid_t first_ = -1;
  pid_t init_ = -1;
};

}  // namespace warder
