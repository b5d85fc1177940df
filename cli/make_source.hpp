// From the configuration of a source to the source; and which program a helper's name means.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "secrets/source_store.hpp"

namespace warder {

// Makes sources; those of one store share what opens it.
class SourceMaker {
 public:
  // `secret` is its name, for a helper. Throws ConfigError without a place.
  std::unique_ptr<SecretSource> make(const SourceConfig& source, const std::string& secret);

 private:
  std::map<std::filesystem::path, std::shared_ptr<StoreReader>> stores_;
};

// The file that a source is read from again and again, empty for those that have none.
std::filesystem::path watched_file(const SourceConfig& source);

// The program that a helper's first part means, as a whole path: it is looked for in PATH once, here. Throws ConfigError.
std::filesystem::path helper_program(const SourceConfig::Exec& exec);
// That if it is found, and each argument that is the whole path of something that exists: what the helper runs or reads.
std::vector<std::filesystem::path> helper_files(const SourceConfig::Exec& exec);

}  // namespace warder
