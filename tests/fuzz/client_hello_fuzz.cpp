// Invariant: as bytes come in, a hello is incomplete until it is one thing, which no further byte changes; a name is
// only ever what stands in the bytes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "http/client_hello.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using warder::ClientHello;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ClientHello last{ClientHello::State::incomplete, std::nullopt};
  for (std::size_t n = 0; n <= size; ++n) {
    const ClientHello now = warder::parse_client_hello(bytes.substr(0, n));
    const bool settled = last.state != ClientHello::State::incomplete;
    if (settled && (now.state != last.state || now.server_name != last.server_name)) std::abort();
    if (now.server_name && now.state != ClientHello::State::complete) std::abort();
    last = now;
  }
  if (last.server_name && bytes.size() < last.server_name->size()) std::abort();
  return 0;
}
