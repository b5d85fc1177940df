// Invariant: any bytes are a message, not yet one, or none; a message is read the same whole and byte by byte, and
// never takes more than is there.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "http/socks5.hpp"

namespace {

using namespace warder::socks5;

template <class Message>
void check(std::variant<Message, Outcome> (*read)(std::string_view&), std::string_view bytes) {
  std::string_view whole = bytes;
  const auto outcome = read(whole);
  const bool is_message = std::holds_alternative<Message>(outcome);
  if (!is_message && whole.size() != bytes.size()) std::abort();
  const std::size_t taken = bytes.size() - whole.size();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string_view in = bytes.substr(0, size);
    const auto part = read(in);
    // A prefix is a message only where all of it is decided, and bad only where the whole is.
    if (std::holds_alternative<Message>(part) && (!is_message || size < taken)) {
      if (size - in.size() != size && taken != bytes.size()) std::abort();
    } else if (!std::holds_alternative<Message>(part)) {
      const bool bad = std::get<Outcome>(part) == Outcome::bad;
      if (bad && is_message) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size < 600 ? size : 600);
  check(read_greeting, bytes);
  check(read_login, bytes);
  check(read_request, bytes);
  return 0;
}
