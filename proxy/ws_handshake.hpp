// The opening handshake of WebSocket (RFC 6455 section 4) as a gateway sees it: two heads, looked at and rewritten. Pure.
#pragma once

#include <optional>
#include <string>

#include "http/message.hpp"
#include "proxy/rewrite.hpp"

namespace warder {

// What a request asks that its connection become.
struct WsOffer {
  std::string key;  // Sec-WebSocket-Key, as sent
};

// nullopt: not the handshake of section 4.2.1, or not in HTTP/1.1. Its upgrade, if it asks for one, is then taken off as
// any hop-by-hop field is, and no 101 is accepted.
std::optional<WsOffer> find_ws_offer(const RequestHead& head, const Framing& framing,
                                     HttpVersion version);

// After prepare_request(): the upgrade on again, and every extension off, so that what passes can be read.
void offer_ws_upgrade(RequestHead& head);

// Why this 101 is no answer to the offer; empty: it is one.
std::string ws_answer_fault(const ResponseHead& head, const WsOffer& offer);

// After prepare_response(): the upgrade on again.
void confirm_ws_upgrade(ResponseHead& head);

// What Sec-WebSocket-Accept must say to this key.
std::string ws_accept_for(const std::string& key);

}  // namespace warder
