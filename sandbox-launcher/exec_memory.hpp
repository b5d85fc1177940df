// Reads what a process that stands in execve() asked for, out of its memory and /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "sandbox-launcher/exec_report.hpp"

namespace warder {

// The arguments of the system call, as the kernel got them.
struct ExecCall {
  pid_t thread = 0;
  std::uint64_t path = 0;
  std::uint64_t argv = 0;
  int directory = -1;          // of execveat(); AT_FDCWD otherwise
  bool of_descriptor = false;  // AT_EMPTY_PATH
};

// All of it but the number. What cannot be read is left empty, with `unread`.
ExecBegun read_exec(const ExecCall& call);

// ENOENT or ENOTDIR when it is certain that the file is not there, for a search along PATH; 0 otherwise. Paths through
// /proc, which look different to each process, are never certain.
int certainly_missing(const ExecBegun& begun, const ExecCall& call);

}  // namespace warder
