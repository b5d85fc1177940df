// What `warder doctor` tries of this process's own: memory for secrets, directories, random numbers, the clock.
#pragma once

#include <vector>

#include "sandbox-launcher/attempt.hpp"

namespace warder {

std::vector<Attempt> try_host();

}  // namespace warder
