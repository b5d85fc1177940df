// Invariant: whatever a credential helper prints is a value or a sentence; a value of git's is one line of its output, and
// no value is longer than the output.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "secrets/helper_reply.hpp"

namespace {

using namespace warder;

void check(HelperFormat format, std::string_view bytes) {
  const auto found = helper_value(format, bytes);
  if (const auto* problem = std::get_if<std::string>(&found)) {
    if (problem->empty()) std::abort();
    return;
  }
  const std::string_view value = as_view(std::get<WipedBytes>(found));
  if (value.size() > bytes.size()) std::abort();
  if (format == HelperFormat::docker_credential) return;
  if (bytes.find(value) == std::string_view::npos) std::abort();
  const bool is_line = value.find('\n') == std::string_view::npos;
  if (format == HelperFormat::git_credential && !is_line) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto format :
       {HelperFormat::plain, HelperFormat::git_credential, HelperFormat::docker_credential})
    check(format, bytes);
  return 0;
}
