#include "cli/audit_sources.hpp"

#include <stdexcept>

#include "audit/history.hpp"
#include "audit/verify.hpp"
#include "cli/state.hpp"

namespace warder {

std::vector<std::filesystem::path> state_audit_files() {
  auto files = audit::audit_files(audit_directory());
  if (files.empty()) {
    throw std::runtime_error("there is no audit file in " + audit_directory().string() +
                             "; name one");
  }
  return files;
}

std::filesystem::path last_run_file() { return state_audit_files().back(); }

TrustedKey trusted_key(const std::string& given) {
  if (!given.empty()) return {given, "given as --key"};
  return {audit::verifier_key(audit_key_file()),
          "this host's key file " + audit_key_file().string()};
}

audit::VerifierKey parsed_key(const std::string& given) {
  auto key = audit::VerifierKey::parse(trusted_key(given).text);
  if (!key) throw std::runtime_error("the key is not a verifier key (name+hash+base64)");
  return *std::move(key);
}

}  // namespace warder
