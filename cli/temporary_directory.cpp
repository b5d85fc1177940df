#include "cli/temporary_directory.hpp"

#include <stdlib.h>

#include <cerrno>
#include <system_error>

namespace warder {

namespace fs = std::filesystem;

TemporaryDirectory::TemporaryDirectory(const std::string& prefix) {
  const char* chosen = std::getenv("TMPDIR");
  const fs::path parent = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
  std::string name = (parent / (prefix + "-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot make a directory in " + parent.string() + " (TMPDIR)");
  }
  path_ = fs::canonical(name);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace warder
