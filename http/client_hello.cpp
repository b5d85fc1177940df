#include "http/client_hello.hpp"

namespace warder {
namespace {

constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kHandshakeHeader = 4;
constexpr std::size_t kMaxRecord = 16 * 1024;  // RFC 8446 section 5.1
constexpr std::uint8_t kHandshakeRecord = 22;
constexpr std::uint8_t kClientHelloMessage = 1;
constexpr std::uint16_t kServerName = 0;
constexpr std::uint8_t kHostName = 0;

// Takes fields off the front; once something is missing, everything is.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : left_(bytes) {}

  std::string_view bytes(std::size_t size) {
    if (size > left_.size()) {
      fits_ = false;
      left_ = {};
      return {};
    }
    const std::string_view out = left_.substr(0, size);
    left_.remove_prefix(size);
    return out;
  }
  std::size_t number(std::size_t size) {
    std::size_t out = 0;
    for (const char c : bytes(size)) out = out << 8 | static_cast<unsigned char>(c);
    return out;
  }
  // A vector with its length in `size` bytes before it.
  std::string_view vector(std::size_t size) { return bytes(number(size)); }
  bool at_end() const { return left_.empty(); }
  bool fits() const { return fits_; }

 private:
  std::string_view left_;
  bool fits_ = true;
};

const ClientHello kIncomplete{ClientHello::State::incomplete, std::nullopt};
const ClientHello kBroken{ClientHello::State::broken, std::nullopt};

// The one host_name of the extension.
std::optional<std::string> host_name_of(std::string_view extension) {
  Fields outer(extension);
  Fields list(outer.vector(2));
  const std::size_t kind = list.number(1);
  const std::string_view name = list.vector(2);
  const bool good = outer.fits() && outer.at_end() && list.fits() && list.at_end() &&
                    kind == kHostName && !name.empty();
  return good ? std::optional<std::string>(name) : std::nullopt;
}

ClientHello parse_message(std::string_view message) {
  Fields hello(message);
  hello.bytes(2 + 32);  // legacy_version, random
  hello.vector(1);      // legacy_session_id
  hello.vector(2);      // cipher_suites
  hello.vector(1);      // legacy_compression_methods
  ClientHello found{ClientHello::State::complete, std::nullopt};
  if (!hello.fits()) return kBroken;
  if (hello.at_end()) return found;  // TLS 1.2 without extensions
  Fields extensions(hello.vector(2));
  if (!hello.fits() || !hello.at_end()) return kBroken;
  while (!extensions.at_end()) {
    const std::size_t type = extensions.number(2);
    const std::string_view data = extensions.vector(2);
    if (!extensions.fits()) return kBroken;
    if (type != kServerName) continue;
    if (found.server_name) return kBroken;
    found.server_name = host_name_of(data);
    if (!found.server_name) return kBroken;
  }
  return found;
}

}  // namespace

ClientHello parse_client_hello(std::string_view bytes) {
  std::string message;  // the handshake message, which may lie in several records
  std::size_t at = 0;
  for (;;) {
    const std::string_view record = bytes.substr(at);
    if (!record.empty() && static_cast<std::uint8_t>(record[0]) != kHandshakeRecord) return kBroken;
    if (record.size() > 1 && record[1] != 3) return kBroken;
    if (record.size() < kRecordHeader) break;
    const std::size_t size = static_cast<std::size_t>(static_cast<unsigned char>(record[3])) << 8 |
                             static_cast<unsigned char>(record[4]);
    if (size == 0 || size > kMaxRecord) return kBroken;
    const std::size_t with_record = message.size() + size;
    message += record.substr(kRecordHeader, size);
    if (!message.empty() && static_cast<std::uint8_t>(message[0]) != kClientHelloMessage)
      return kBroken;
    if (message.size() >= kHandshakeHeader) {
      Fields header(std::string_view(message).substr(1, 3));
      const std::size_t whole = kHandshakeHeader + header.number(3);
      // The hello ends its record: nothing else may follow in it before the server has answered.
      if (whole > kMaxClientHello || with_record > whole) return kBroken;
      if (message.size() == whole)
        return parse_message(std::string_view(message).substr(kHandshakeHeader));
    }
    if (record.size() < kRecordHeader + size) break;
    at += kRecordHeader + size;
  }
  return bytes.size() >= kMaxClientHello ? kBroken : kIncomplete;
}

}  // namespace warder
