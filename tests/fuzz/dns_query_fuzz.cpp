// Invariant: any packet is dropped, refused or read; what is read is echoed to the byte, in at most 512 bytes,
// and no answer is itself a query.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dns/message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warder::dns;
  const std::string_view packet(reinterpret_cast<const char*>(data), size);
  const auto query = parse_query(packet);
  if (!query) return 0;
  Answer answer;
  answer.address = {198, 18, 0, 2};
  answer.extended_error = 15;
  answer.extended_text = std::string(packet);
  answer.pointer = "api.test";
  const std::string reply = write_answer(*query, answer);
  if (reply.size() > 512 || parse_query(reply)) std::abort();
  const std::size_t question = query->wire_name.empty() ? 0 : query->wire_name.size() + 4;
  if (reply.substr(12, question) != packet.substr(12, question)) std::abort();
  if (query->name.find('\0') != std::string::npos || query->wire_name.size() > 255) std::abort();
  return 0;
}
