// Invariant: what is taken as a host is lower-case ASCII, stays the same when read again, and is an address only where
// somebody plainly wrote one.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "http/authority.hpp"
#include "http/chars.hpp"

namespace {

using namespace warder;

bool is_canonical(char c) { return is_in(kTokenChar, c) && !(c >= 'A' && c <= 'Z'); }

bool looks_like_ipv4(std::string_view text) {
  for (const char c : text) {
    if (!is_digit(c) && c != '.') return false;
  }
  return true;
}

void check(std::string_view text) {
  const Result<HostName> host = HostName::parse(text);
  if (!host) return;
  const Result<HostName> again = HostName::parse(host->str());
  if (!again || *again != *host) std::abort();
  const std::string& name = host->str();
  switch (host->kind()) {
    case HostName::Kind::ipv4:
      if (name != text) std::abort();
      return;
    case HostName::Kind::ipv6:
      if (text.find(':') == std::string_view::npos) std::abort();
      for (const char c : text) {
        if (static_cast<unsigned char>(c) >= 0x80) std::abort();
      }
      return;
    case HostName::Kind::name: break;
  }
  if (name.empty() || name.size() > 253 || looks_like_ipv4(name)) std::abort();
  for (const char c : name) {
    if (!is_canonical(c)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text);
  const Result<HostPort> whole = parse_host_port(text);
  if (whole && whole->port == 0) std::abort();
  return 0;
}
