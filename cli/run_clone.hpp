// The clone of one run: made before it, counted or thrown away after it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/clone_store.hpp"
#include "cli/file_changes.hpp"

namespace warder {

class RunClone {
 public:
  // Throws ConfigError.
  RunClone(const std::string& run, const std::filesystem::path& workspace,
           const std::string& program);
  RunClone(const RunClone&) = delete;
  RunClone& operator=(const RunClone&) = delete;
  ~RunClone();  // as finish(), without a word

  const std::filesystem::path& directory() const { return clone_.directory; }

  // For the record. Not after finish(). Throws TreeError.
  FileChanges changes() const;
  // Gone when nothing changed; else kept, with one line about it. `announce` may be empty.
  void finish(const std::function<void(const std::string&)>& announce);

 private:
  Clone clone_;
  std::optional<Fd> held_;
};

}  // namespace warder
