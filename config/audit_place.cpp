#include "config/audit_place.hpp"

#include <algorithm>

#include "policy/quote.hpp"

namespace warder {
namespace {

std::filesystem::path real(const std::filesystem::path& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path);
  const auto canonical = std::filesystem::weakly_canonical(absolute, error);
  return error ? absolute.lexically_normal() : canonical;
}

bool is_within(const std::filesystem::path& path, const std::filesystem::path& directory) {
  return std::mismatch(directory.begin(), directory.end(), path.begin(), path.end()).first ==
         directory.end();
}

}  // namespace

void check_audit_place(const Config& config, const std::filesystem::path& workspace) {
  if (config.gateway.audit_file.empty()) return;
  const std::filesystem::path root = real(workspace);
  // Both the directory that the file's name stands in and the one that a link leads to.
  const std::filesystem::path named = real(config.gateway.audit_file.parent_path());
  const std::filesystem::path target = real(config.gateway.audit_file).parent_path();
  const bool at_root = named == root || target == root;
  const bool over_config =
      !config.file.empty() && (is_within(real(config.file), named) && is_within(named, root));
  if (!at_root && !over_config) return;
  throw ConfigError(
      config.gateway.audit_place + (config.gateway.audit_place.empty() ? "" : ": ") +
      "audit file " + in_quotes(config.gateway.audit_file.string()) +
      (at_root ? " lies at the root of the workspace, where the sandbox could change it"
               : " lies in the directory of the configuration, which must stay readable") +
      ": give it a directory of its own, such as audit/audit.jsonl");
}

}  // namespace warder
