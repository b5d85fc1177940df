// `warder doctor`: tries what a run needs of this host, and says what is missing and how to mend it.
#pragma once

#include "cli/output.hpp"

namespace warder {

struct DoctorArgs {
  Json json = Json::no;
};

// 0: `warder run` works here; 1: something that it needs is missing.
int doctor_command(const DoctorArgs& args);

}  // namespace warder
