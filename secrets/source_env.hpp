// A secret in an environment variable: as it was when the gateway started.
#pragma once

#include <memory>
#include <string>

#include "secrets/source.hpp"

namespace warder {

// Takes a guarded copy at once; the caller overwrites the variable's own bytes. nullptr: it is not set.
std::unique_ptr<SecretSource> env_source(const std::string& name, const char* value);

}  // namespace warder
