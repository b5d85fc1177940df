#include "proxy/ws_handshake.hpp"

#include <openssl/evp.h>

#include <array>
#include <new>

#include "base/encoding.hpp"

namespace warder {
namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t kKeyBytes = 16;

void add_upgrade(HeaderList& fields) {
  fields.add("Connection", "Upgrade");
  fields.add("Upgrade", "websocket");
}

bool asks_for_upgrade(const HeaderList& fields) {
  return fields.has_token("Connection", "upgrade") && fields.has_token("Upgrade", "websocket");
}

// The value of a field that must stand there once.
const std::string* only_one(const HeaderList& fields, std::string_view name) {
  return fields.count(name) == 1 ? &fields.find(name)->value : nullptr;
}

}  // namespace

std::string ws_accept_for(const std::string& key) {
  const std::string text = key + std::string(kGuid);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  // SHA-1 guards nothing here: it shows that the far end has read this very key.
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) {
    throw std::bad_alloc();
  }
  return base64_encode({reinterpret_cast<const char*>(digest.data()), size});
}

std::optional<WsOffer> find_ws_offer(const RequestHead& head, const Framing& framing,
                                     HttpVersion version) {
  if (version != HttpVersion::http11 || head.method != "GET") return std::nullopt;
  // Java's clients say "Content-Length: 0" of their own accord.
  const bool has_body = framing.kind == Framing::Kind::chunked || framing.length > 0;
  if (has_body || !asks_for_upgrade(head.fields)) return std::nullopt;
  const std::string* revision = only_one(head.fields, "sec-websocket-version");
  const std::string* key = only_one(head.fields, "sec-websocket-key");
  if (revision == nullptr || *revision != "13" || key == nullptr) return std::nullopt;
  const auto nonce = base64_decode(*key);
  if (!nonce || nonce->size() != kKeyBytes) return std::nullopt;
  return WsOffer{*key};
}

void offer_ws_upgrade(RequestHead& head) {
  head.fields.remove("sec-websocket-extensions");
  add_upgrade(head.fields);
}

std::string ws_answer_fault(const ResponseHead& head, const WsOffer& offer) {
  if (!asks_for_upgrade(head.fields)) return "the origin switched to something else than WebSocket";
  const std::string* accept = only_one(head.fields, "sec-websocket-accept");
  if (accept == nullptr || *accept != ws_accept_for(offer.key)) {
    return "the origin's Sec-WebSocket-Accept does not belong to the key that was sent";
  }
  if (head.fields.has("sec-websocket-extensions")) {
    return "the origin chose a WebSocket extension that nobody offered";
  }
  return "";
}

void confirm_ws_upgrade(ResponseHead& head) { add_upgrade(head.fields); }

}  // namespace warder
