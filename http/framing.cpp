#include "http/framing.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "http/chars.hpp"

namespace warder {
namespace {

// Other parsers count in signed 64-bit numbers.
constexpr auto kMaxLength = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

constexpr auto kNotInTrailers = std::to_array<std::string_view>(
    {"Authorization", "Connection", "Content-Length", "Cookie", "Expect", "Host", "Keep-Alive",
     "Proxy-Authorization", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade"});

// Digits only: no sign, no list, no white space.
std::optional<std::uint64_t> parse_length(std::string_view text) {
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || length > kMaxLength) return std::nullopt;
  return length;
}

// What the fields say, whatever the message is. Kind::none: they say nothing.
H1Error frame_fields(const HeaderList& fields, int minor, Framing& framing) {
  framing = {};
  const HeaderField* coding = fields.find("Transfer-Encoding");
  const HeaderField* length = fields.find("Content-Length");
  if (coding != nullptr) {
    // "chunked" alone: others would have to be undone before a mask could see the body, and a list
    // is where parsers disagree.
    const bool chunked_once =
        fields.count("Transfer-Encoding") == 1 && same_name(coding->value, "chunked");
    if (!chunked_once || length != nullptr || minor == 0) return H1Error::bad_framing;
    framing.kind = Framing::Kind::chunked;
  } else if (length != nullptr) {
    const auto parsed = parse_length(length->value);
    if (!parsed || fields.count("Content-Length") > 1) return H1Error::bad_framing;
    framing = {.kind = Framing::Kind::length, .length = *parsed};
  }
  return H1Error::none;
}

bool says_keep_alive(const HeaderList& fields, int minor) {
  if (fields.has_token("Connection", "close")) return false;
  return minor > 0 || fields.has_token("Connection", "keep-alive");
}

bool is_tunnel(const ResponseHead& head, std::string_view method) {
  return head.status == 101 || (method == "CONNECT" && head.status / 100 == 2);
}

}  // namespace

H1Error frame_request(const RequestHead& head, Framing& framing) {
  const H1Error error = frame_fields(head.fields, head.minor, framing);
  if (error != H1Error::none || head.method != "CONNECT") return error;
  // What follows a CONNECT is the tunnel to some and its body to others.
  if (framing.kind == Framing::Kind::chunked || framing.length > 0) return H1Error::bad_framing;
  framing = {};
  return H1Error::none;
}

H1Error frame_response(const ResponseHead& head, std::string_view method, Framing& framing) {
  const H1Error error = frame_fields(head.fields, head.minor, framing);
  if (error != H1Error::none) return error;
  const bool has_no_body = method == "HEAD" || head.status / 100 == 1 || head.status == 204 ||
                           head.status == 304 || is_tunnel(head, method);
  if (has_no_body) {
    framing = {};
  } else if (framing.kind == Framing::Kind::none) {
    framing.kind = Framing::Kind::until_close;
  }
  return H1Error::none;
}

bool keeps_alive(const RequestHead& head) { return says_keep_alive(head.fields, head.minor); }

bool keeps_alive(const ResponseHead& head, std::string_view method, const Framing& framing) {
  if (framing.kind == Framing::Kind::until_close || is_tunnel(head, method)) return false;
  // A 1xx or 204 that announces a body: the server may send it as well.
  const HeaderField* length = head.fields.find("Content-Length");
  const bool announces =
      head.fields.has("Transfer-Encoding") ||
      (length != nullptr && length->value.find_first_not_of('0') != std::string::npos);
  const bool never_has_body = head.status == 204 || head.status / 100 == 1;
  if (never_has_body && announces) return false;
  return says_keep_alive(head.fields, head.minor);
}

bool may_be_trailer(std::string_view name) {
  return std::none_of(kNotInTrailers.begin(), kNotInTrailers.end(),
                      [&](std::string_view barred) { return same_name(name, barred); });
}

}  // namespace warder
