#include "proxy/ws_handshake.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

namespace {

const std::string kKey = "dGhlIHNhbXBsZSBub25jZQ==";
const std::string kAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";  // RFC 6455 section 1.3

RequestHead asking() {
  RequestHead head;
  head.method = "GET";
  head.target = "/chat";
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"Host", "api.test"},
           {"Connection", "Upgrade"},
           {"Upgrade", "websocket"},
           {"Sec-WebSocket-Key", kKey},
           {"Sec-WebSocket-Version", "13"}}) {
    head.fields.add(name, value);
  }
  return head;
}

bool offers(const RequestHead& head, HttpVersion version = HttpVersion::http11,
            Framing framing = {}) {
  return find_ws_offer(head, framing, version).has_value();
}

ResponseHead answering() {
  ResponseHead head;
  head.status = 101;
  head.fields.add("Upgrade", "WebSocket");
  head.fields.add("Connection", "upgrade");
  head.fields.add("Sec-WebSocket-Accept", kAccept);
  return head;
}

}  // namespace

TEST_CASE("the accept value is that of the RFC's example") {
  CHECK(ws_accept_for(kKey) == kAccept);
}

TEST_CASE("a WebSocket handshake is known, however its tokens are written") {
  REQUIRE(offers(asking()));
  CHECK(find_ws_offer(asking(), {}, HttpVersion::http11)->key == kKey);
  RequestHead head = asking();
  head.fields.set("Connection", "keep-alive, UPGRADE");
  head.fields.set("Upgrade", "WebSocket");
  CHECK(offers(head));
}

TEST_CASE("what is not the handshake of RFC 6455 is none") {
  CHECK_FALSE(offers(asking(), HttpVersion::http10));
  CHECK_FALSE(offers(asking(), HttpVersion::http2));
  CHECK(offers(asking(), HttpVersion::http11, {Framing::Kind::length, 0}));  // as Java says it
  CHECK_FALSE(offers(asking(), HttpVersion::http11, {Framing::Kind::length, 1}));
  CHECK_FALSE(offers(asking(), HttpVersion::http11, {Framing::Kind::chunked, 0}));
  const auto with = [](const char* name, const char* value) {
    RequestHead head = asking();
    if (value == nullptr)
      head.fields.remove(name);
    else
      head.fields.set(name, value);
    return head;
  };
  CHECK_FALSE(offers(with("Connection", nullptr)));
  CHECK_FALSE(offers(with("Connection", "keep-alive")));
  CHECK_FALSE(offers(with("Upgrade", nullptr)));
  CHECK_FALSE(offers(with("Upgrade", "h2c")));
  CHECK_FALSE(offers(with("Upgrade", "websocket2")));
  CHECK_FALSE(offers(with("Sec-WebSocket-Version", nullptr)));
  CHECK_FALSE(offers(with("Sec-WebSocket-Version", "8")));
  CHECK_FALSE(offers(with("Sec-WebSocket-Key", nullptr)));
  CHECK_FALSE(offers(with("Sec-WebSocket-Key", "")));
  CHECK_FALSE(offers(with("Sec-WebSocket-Key", "c2hvcnQ=")));
  CHECK_FALSE(offers(with("Sec-WebSocket-Key", "not base64, but 24 chars")));
  RequestHead twice = asking();
  twice.fields.add("Sec-WebSocket-Key", kKey);
  CHECK_FALSE(offers(twice));
  RequestHead post = asking();
  post.method = "POST";
  CHECK_FALSE(offers(post));
}

TEST_CASE("the request leaves with the upgrade, and without extensions") {
  RequestHead head = asking();
  head.fields.add("Sec-WebSocket-Extensions", "permessage-deflate");
  head.fields.add("Sec-WebSocket-Protocol", "a, b");
  head.fields.add("sec-websocket-extensions", "x-other");
  head.fields.remove("connection");
  head.fields.remove("upgrade");
  offer_ws_upgrade(head);
  CHECK(head.fields.count("sec-websocket-extensions") == 0);
  CHECK(head.fields.find("Sec-WebSocket-Protocol")->value == "a, b");
  CHECK(head.fields.find("Connection")->value == "Upgrade");
  CHECK(head.fields.find("Upgrade")->value == "websocket");
}

TEST_CASE("an answer must belong to the key, and choose nothing that was not offered") {
  const WsOffer offer{kKey};
  CHECK(ws_answer_fault(answering(), offer).empty());
  const auto fault_with = [&](const char* name, const char* value) {
    ResponseHead head = answering();
    head.fields.remove(name);
    if (value != nullptr) head.fields.add(name, value);
    return !ws_answer_fault(head, offer).empty();
  };
  CHECK(fault_with("Upgrade", nullptr));
  CHECK(fault_with("Upgrade", "h2c"));
  CHECK(fault_with("Connection", nullptr));
  CHECK(fault_with("Sec-WebSocket-Accept", nullptr));
  CHECK(fault_with("Sec-WebSocket-Accept", "S3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
  CHECK(fault_with("Sec-WebSocket-Extensions", "permessage-deflate"));
  CHECK(fault_with("Sec-WebSocket-Extensions", ""));
  ResponseHead twice = answering();
  twice.fields.add("Sec-WebSocket-Accept", kAccept);
  CHECK_FALSE(ws_answer_fault(twice, offer).empty());
}
