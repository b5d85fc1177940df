// What changes in heads that pass, and that nothing else does.
#include "proxy/rewrite.hpp"

#include <memory>

#include "tests/support/catch.hpp"

using namespace warder;

namespace {

const Authority kApi{Scheme::https, HostName::parse("api.test").value(), 443};

HeaderList fields(std::vector<HeaderField> list) {
  HeaderList made;
  for (HeaderField& field : list) made.add(std::move(field.name), std::move(field.value));
  return made;
}

RequestHead prepared(HeaderList list, SecretsInUse session_has = SecretsInUse::no,
                     SecretsInUse swapped_here = SecretsInUse::no) {
  RequestHead head;
  head.method = "GET";
  head.target = "https://api.test/x";
  head.fields = std::move(list);
  REQUIRE(prepare_request(head, kApi, "/x", session_has, swapped_here));
  return head;
}

// A value and a placeholder of its length, or of another.
const std::string kValue = "sk-REALvalue0123";
std::unique_ptr<MaskSet> masks(const std::string& placeholder = "sk-PLACEHOLDER01") {
  return std::make_unique<MaskSet>(std::vector<MaskSet::Entry>{{kValue, placeholder, "openai"}});
}
const std::string kLonger = "sk-PLACEHOLDER01abc";

constexpr Framing kChunked{Framing::Kind::chunked, 0};
constexpr Framing kUntilClose{Framing::Kind::until_close, 0};
constexpr Framing kFive{Framing::Kind::length, 5};

ResponseHead response(HeaderList list) {
  ResponseHead head;
  head.status = 200;
  head.phrase = "OK";
  head.fields = std::move(list);
  return head;
}

}  // namespace

TEST_CASE("in a session without secrets an ordinary request keeps every field as it was") {
  const HeaderList sent = fields({{"HOST", "api.test"},
                                  {"X-A", "1"},
                                  {"x-a", "2"},
                                  {"Accept-Encoding", "gzip, br"},
                                  {"Range", "bytes=0-1"},
                                  {"Expect", "100-continue"},
                                  {"X-Empty", ""}});
  const RequestHead head = prepared(sent);
  CHECK(head.fields == sent);
  CHECK(head.target == "/x");
  CHECK(head.minor == 1);
}

TEST_CASE("BR-021 hop-by-hop fields go, also those that Connection names") {
  const RequestHead head = prepared(fields({{"Host", "api.test"},
                                            {"Proxy-Authorization", "Basic dG9rOnRvaw=="},
                                            {"Proxy-Connection", "keep-alive"},
                                            {"Connection", "close, X-Hop"},
                                            {"X-Hop", "1"},
                                            {"Keep-Alive", "5"},
                                            {"TE", "trailers, deflate"},
                                            {"Upgrade", "h2c"},
                                            {"X-Stays", "1"}}));
  CHECK(head.fields == fields({{"Host", "api.test"}, {"TE", "trailers"}, {"X-Stays", "1"}}));
}

TEST_CASE("BR-021 a Connection that would take a credential off is refused") {
  for (const char* name : {"authorization", "Host", "x-api-key", "content-length", "cookie"}) {
    INFO(name);
    RequestHead head;
    head.fields = fields({{"Host", "api.test"}, {"Connection", name}});
    CHECK_FALSE(prepare_request(head, kApi, "/", SecretsInUse::no, SecretsInUse::no));
  }
}

TEST_CASE("what the client wrote of its framing goes: the origin's leg writes its own") {
  const RequestHead head =
      prepared(fields({{"Host", "api.test"}, {"Transfer-Encoding", "chunked"}}));
  CHECK(head.fields == fields({{"Host", "api.test"}}));
}

TEST_CASE("HTTP/2 frames by itself: neither Transfer-Encoding nor Connection is told to it") {
  ResponseHead head = response(fields({{"Transfer-Encoding", "chunked"}, {"X", "y"}}));
  const ResponsePlan plan =
      prepare_response(head, kChunked, *masks(), HttpVersion::http2, AfterThis::close);
  CHECK(plan.delivery == Delivery::chunked);
  CHECK(head.fields == fields({{"X", "y"}}));
}

TEST_CASE("a missing Host is put first, with its port where that is not the scheme's own") {
  CHECK(prepared(fields({{"A", "b"}})).fields == fields({{"Host", "api.test"}, {"A", "b"}}));
  RequestHead head;
  Authority odd = kApi;
  odd.port = 8443;
  REQUIRE(prepare_request(head, odd, "/", SecretsInUse::no, SecretsInUse::no));
  CHECK(head.fields == fields({{"Host", "api.test:8443"}}));
}

TEST_CASE("Host is the name that was decided on, in the client's own capitals") {
  const auto sent = [](const char* written, const char* host, std::uint16_t port) {
    RequestHead head;
    head.fields = fields({{"A", "b"}, {"Host", written}, {"C", "d"}});
    const Authority to{Scheme::https, HostName::parse(host).value(), port};
    REQUIRE(prepare_request(head, to, "/", SecretsInUse::no, SecretsInUse::no));
    REQUIRE(head.fields.fields().size() == 3);
    CHECK(head.fields.fields()[1].name == "Host");
    return head.fields.fields()[1].value;
  };
  for (const char* same : {"api.test", "API.Test", "api.test:443", "Api.Test:443"})
    CHECK(sent(same, "api.test", 443) == same);
  for (const char* dotted : {"api.test.", "API.TEST.", "api.test.:443"})
    CHECK(sent(dotted, "api.test", 443) == "api.test");
  CHECK(sent("api.test.:8443", "api.test", 8443) == "api.test:8443");
  CHECK(sent("XN--BCHER-KVA.test", "xn--bcher-kva.test", 443) == "XN--BCHER-KVA.test");
  CHECK(sent("b\xc3\xbc"
             "cher.test",
             "xn--bcher-kva.test", 443) == "xn--bcher-kva.test");
  CHECK(sent("[::1]", "::1", 443) == "[::1]");
  CHECK(sent("[2001:DB8::1]:443", "2001:db8::1", 443) == "[2001:DB8::1]:443");
  CHECK(sent("[0:0::1]:8443", "::1", 8443) == "[::1]:8443");
}

TEST_CASE("BR-046 a session with secrets asks for bodies that can be searched") {
  const auto asked = [](HeaderList list) {
    return prepared(std::move(list), SecretsInUse::yes).fields;
  };
  const HeaderList known = fields({{"Host", "api.test"},
                                   {"Accept-Encoding", "gzip;q=0.8"},
                                   {"B", "c"},
                                   {"accept-encoding", "br, zstd"}});
  CHECK(asked(known) == known);
  CHECK(asked(fields(
            {{"Host", "api.test"}, {"Accept-Encoding", "dcz, gzip"}, {"accept-encoding", "*"}})) ==
        fields({{"Host", "api.test"}, {"Accept-Encoding", "gzip"}}));
  CHECK(asked(fields({{"Host", "api.test"}})) ==
        fields({{"Host", "api.test"}, {"Accept-Encoding", "identity"}}));
  CHECK(asked(fields({{"Host", "api.test"},
                      {"grpc-accept-encoding", "identity,snappy,gzip"},
                      {"Accept-Encoding", "identity"}})) ==
        fields({{"Host", "api.test"},
                {"grpc-accept-encoding", "identity, gzip"},
                {"Accept-Encoding", "identity"}}));
}

TEST_CASE("where a secret is swapped no part of a body is asked for") {
  const HeaderList sent =
      fields({{"Host", "api.test"}, {"Range", "bytes=1-2"}, {"If-Range", "\"e\""}});
  CHECK(prepared(sent, SecretsInUse::yes, SecretsInUse::no).fields.has("range"));
  const RequestHead head = prepared(sent, SecretsInUse::yes, SecretsInUse::yes);
  CHECK_FALSE(head.fields.has("range"));
  CHECK_FALSE(head.fields.has("if-range"));
}

TEST_CASE(
    "how a body leaves follows from how it came, who asked, and whether its length is known") {
  struct Case {
    Framing framing;
    std::string placeholder;
    int minor;
    Delivery delivery;
  };
  const std::string same = "sk-PLACEHOLDER01";
  const std::vector<Case> cases = {
      {{}, same, 1, Delivery::none},
      {{}, kLonger, 0, Delivery::none},
      {kFive, same, 1, Delivery::length},
      {kFive, same, 0, Delivery::length},
      {kFive, kLonger, 1, Delivery::chunked},
      {kFive, kLonger, 0, Delivery::until_close},
      {kChunked, same, 1, Delivery::chunked},
      {kChunked, same, 0, Delivery::until_close},
      {kUntilClose, same, 1, Delivery::chunked},
      {kUntilClose, same, 0, Delivery::until_close},
  };
  for (const Case& c : cases) {
    const HttpVersion version = c.minor == 0 ? HttpVersion::http10 : HttpVersion::http11;
    ResponseHead head = response(fields({{"X", "y"}}));
    if (c.framing.kind == Framing::Kind::length) head.fields.add("Content-Length", "5");
    if (c.framing.kind == Framing::Kind::chunked) head.fields.add("Transfer-Encoding", "chunked");
    const auto set = masks(c.placeholder);
    const ResponsePlan plan =
        prepare_response(head, c.framing, *set, version, AfterThis::keep_open);
    INFO("framing " << int(c.framing.kind) << ", " << c.placeholder << ", HTTP/1." << c.minor);
    CHECK(plan.is_well_formed);
    CHECK(plan.delivery == c.delivery);
    CHECK(head.fields.has("content-length") == (c.delivery == Delivery::length));
    CHECK(head.fields.count("transfer-encoding") == (c.delivery == Delivery::chunked ? 1 : 0));
    CHECK(head.fields.has_token("connection", "close") == (c.delivery == Delivery::until_close));
  }
}

TEST_CASE("BR-010 the length that a HEAD answer announces stays, unless a mask could change it") {
  ResponseHead head = response(fields({{"Content-Length", "123456"}}));
  prepare_response(head, {}, *masks(), HttpVersion::http11, AfterThis::keep_open);
  CHECK(head.fields == fields({{"Content-Length", "123456"}}));
  prepare_response(head, {}, *masks(kLonger), HttpVersion::http11, AfterThis::keep_open);
  CHECK(head.fields.empty());
}

TEST_CASE("what a mask of another length makes untrue goes") {
  const HeaderList sent = fields({{"Content-Length", "5"},
                                  {"Content-MD5", "x"},
                                  {"Digest", "x"},
                                  {"Content-Digest", "x"},
                                  {"Repr-Digest", "x"},
                                  {"Accept-Ranges", "bytes"},
                                  {"ETag", "\"v1\""},
                                  {"X", "y"}});
  ResponseHead head = response(sent);
  prepare_response(head, kFive, *masks(), HttpVersion::http11, AfterThis::keep_open);
  CHECK(head.fields == sent);
  prepare_response(head, kFive, *masks(kLonger), HttpVersion::http11, AfterThis::keep_open);
  CHECK(head.fields ==
        fields({{"ETag", "W/\"v1\""}, {"X", "y"}, {"Transfer-Encoding", "chunked"}}));
}

TEST_CASE("what a body that is coded again makes untrue goes, also where no body is there") {
  for (const Framing framing : {kFive, Framing()}) {
    ResponseHead head = response(fields({{"Content-Encoding", "gzip"},
                                         {"Content-Length", "5"},
                                         {"Digest", "x"},
                                         {"Accept-Ranges", "bytes"},
                                         {"ETag", "\"v1\""}}));
    const ResponsePlan plan = prepare_response(head, framing, *masks(), HttpVersion::http2,
                                               AfterThis::keep_open, BodyLength::may_change);
    CHECK(head.fields == fields({{"Content-Encoding", "gzip"}, {"ETag", "W/\"v1\""}}));
    const bool has_body = framing.kind != Framing::Kind::none;
    CHECK(plan.delivery == (has_body ? Delivery::chunked : Delivery::none));
  }
}

TEST_CASE("values are masked in fields, in names and in the phrase; Alt-Svc leads past us") {
  ResponseHead head = response(fields({{"Location", "https://x/?t=" + kValue},
                                       {"Alt-Svc", "h3=\":443\""},
                                       {"Set-Cookie", "a=" + kValue + "; b=" + kValue}}));
  head.phrase = "Bad " + kValue;
  const ResponsePlan plan =
      prepare_response(head, {}, *masks(), HttpVersion::http11, AfterThis::keep_open);
  CHECK(head.phrase == "Bad sk-PLACEHOLDER01");
  CHECK(head.fields == fields({{"Location", "https://x/?t=sk-PLACEHOLDER01"},
                               {"Set-Cookie", "a=sk-PLACEHOLDER01; b=sk-PLACEHOLDER01"}}));
  REQUIRE(plan.masked.size() == 3);
  CHECK(plan.masked[0].place == "phrase");
  CHECK(plan.masked[1].place == "header:location");
  CHECK(plan.masked[2].count == 2);
}

TEST_CASE("a value that comes as a field's name is not in the record of its masking either") {
  const std::string value = "deadbeef0123456789abcdef";
  const MaskSet set({{value, "placeholder0123456789abc", "hex"}});
  HeaderList list = fields({{value, "1"}});
  std::vector<audit::SecretMasked> masked;
  mask_fields(list, set, "trailer:", masked);
  CHECK(list == fields({{"placeholder0123456789abc", "1"}}));
  REQUIRE(masked.size() == 1);
  CHECK(masked[0].place == "trailer:placeholder0123456789abc");
}

TEST_CASE("an answer whose Connection names what must stay is not passed on at all") {
  ResponseHead head =
      response(fields({{"Connection", "set-cookie"}, {"Transfer-Encoding", "chunked"}}));
  CHECK_FALSE(prepare_response(head, kChunked, *masks(), HttpVersion::http11, AfterThis::keep_open)
                  .is_well_formed);
}
