#include "http/idna.hpp"

#include <idn2.h>

#include <memory>

#include "http/authority.hpp"

namespace warder {
namespace {

// A name of 253 bytes is never longer than this in UTF-8, composed or not; beyond it nothing is looked at.
constexpr std::size_t kMostBytes = 1024;

AuthorityError to_error(int code) {
  switch (code) {
    case IDN2_ENCODING_ERROR: return AuthorityError::bad_character;
    case IDN2_TOO_BIG_LABEL:
    case IDN2_PUNYCODE_BIG_OUTPUT:
    case IDN2_HYPHEN_STARTEND: return AuthorityError::bad_label;
    case IDN2_TOO_BIG_DOMAIN: return AuthorityError::too_long;
    default: return AuthorityError::bad_idn;
  }
}

}  // namespace

Result<std::string> to_a_labels(std::string_view name) {
  if (name.size() > kMostBytes) return AuthorityError::too_long;
  // IDN2_USE_STD3_ASCII_RULES would not refuse what STD 3 forbids, it leaves it out: "a／b" would be "ab". Without it those
  // characters stay as ASCII, and HostName refuses them.
  char* out = nullptr;
  const int code = ::idn2_to_ascii_8z(std::string(name).c_str(), &out, IDN2_NONTRANSITIONAL);
  if (code != IDN2_OK) return to_error(code);
  const std::unique_ptr<char, void (*)(void*)> owned(out, ::idn2_free);
  return std::string(owned.get());
}

}  // namespace warder
