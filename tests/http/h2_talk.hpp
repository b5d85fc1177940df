// HTTP/2 for tests: frames built by hand, a peer's frames read back, events written down, and two
// sessions that talk to each other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/h2_session.hpp"

namespace warder::test::h2 {

using Fields = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum Type : std::uint8_t {
  data = 0,
  headers = 1,
  priority = 2,
  rst = 3,
  settings = 4,
  push = 5,
  ping = 6,
  goaway = 7,
  window = 8,
  continuation = 9,
};
inline constexpr std::uint8_t kEndStream = 1, kAck = 1, kEndHeaders = 4, kPadded = 8,
                              kPriority = 32;

struct Frame {
  std::uint8_t type;
  std::uint8_t flags;
  std::uint32_t stream;
  std::string payload;
};

inline std::string u32(std::uint32_t n) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift & 0xff);
  return out;
}

inline std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                         std::string_view payload = {}) {
  std::string out = u32(static_cast<std::uint32_t>(payload.size())).substr(1);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  return out + u32(stream) + std::string(payload);
}

// An HPACK integer after the bits of `first`.
inline std::string hpack_int(std::uint8_t first, int prefix, std::size_t n) {
  const std::size_t most = (1U << prefix) - 1;
  if (n < most) return {static_cast<char>(first | n)};
  std::string out{static_cast<char>(first | most)};
  for (n -= most; n >= 128; n /= 128) out += static_cast<char>(n % 128 | 128);
  return out + static_cast<char>(n);
}

// Literals without indexing and without Huffman: every byte as it stands.
inline std::string block(const Fields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    out += '\0';
    out += hpack_int(0, 7, name.size()) + name + hpack_int(0, 7, value.size()) + value;
  }
  return out;
}

inline Fields get(std::string_view path = "/", const Fields& more = {}) {
  Fields fields{{":method", "GET"},
                {":scheme", "https"},
                {":authority", "api.test"},
                {":path", std::string(path)}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}
inline Fields post(const Fields& more = {}) {
  Fields fields = get("/", more);
  fields[0].second = "POST";
  return fields;
}

inline std::string head(std::uint32_t stream, const Fields& fields,
                        std::uint8_t flags = kEndHeaders | kEndStream) {
  return frame(headers, flags, stream, block(fields));
}

inline std::string client_hello() { return std::string(kPreface) + frame(settings, 0, 0); }

inline std::vector<Frame> frames_in(std::string_view bytes) {
  std::vector<Frame> out;
  if (bytes.starts_with(kPreface)) bytes.remove_prefix(kPreface.size());
  while (bytes.size() >= 9) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    const std::size_t length = std::size_t{at(0)} << 16 | std::size_t{at(1)} << 8 | at(2);
    const std::uint32_t stream = static_cast<std::uint32_t>(at(5)) << 24 |
                                 static_cast<std::uint32_t>(at(6)) << 16 |
                                 static_cast<std::uint32_t>(at(7)) << 8 | at(8);
    out.push_back({at(3), at(4), stream, std::string(bytes.substr(9, length))});
    bytes.remove_prefix(std::min(bytes.size(), 9 + length));
  }
  return out;
}

inline std::uint32_t number(std::string_view four) {
  std::uint32_t n = 0;
  for (const char c : four.substr(0, 4)) n = n << 8 | static_cast<std::uint8_t>(c);
  return n;
}

// "GOAWAY 1" or "RST 3 1" for what a session says about errors, in order.
inline std::string errors_in(std::string_view output) {
  std::string out;
  for (const Frame& one : frames_in(output)) {
    if (one.type == goaway) {
      out += "GOAWAY " + std::to_string(number(std::string_view(one.payload).substr(4))) + "\n";
    }
    if (one.type == rst) {
      out += "RST " + std::to_string(one.stream) + " " + std::to_string(number(one.payload)) + "\n";
    }
  }
  return out;
}

inline std::string take_output(H2Session& session) {
  std::string out;
  for (std::string_view some = session.output(); !some.empty(); some = session.output()) {
    out += some;
    session.wrote(some.size());
  }
  return out;
}

inline std::string written(const HeaderList& fields) {
  std::string out;
  for (const HeaderField& field : fields) out += " [" + field.name + ": " + field.value + "]";
  return out;
}

// One line per event; neighbouring pieces of a body are one line.
class Transcript {
 public:
  void note(const H2Event& event) {
    if (const auto* more = std::get_if<H2Data>(&event)) {
      if (body_of_ != more->stream) flush();
      body_of_ = more->stream;
      body_ += more->bytes;
      return;
    }
    flush();
    std::visit([&](const auto& one) { text_ += line(one) + "\n"; }, event);
  }
  void drain(H2Session& session) {
    while (auto event = session.next()) note(*event);
  }
  std::string text() {
    flush();
    return text_;
  }

 private:
  static std::string id(StreamId stream) { return std::to_string(stream) + " "; }
  static std::string line(const H2RequestHead& e) {
    return id(e.stream) + e.head.method + " " + e.scheme + " " + e.head.target +
           written(e.head.fields) + (e.end ? " end" : "");
  }
  static std::string line(const H2ResponseHead& e) {
    return id(e.stream) + std::to_string(e.head.status) + written(e.head.fields) +
           (e.end ? " end" : "");
  }
  static std::string line(const H2HeadTooLarge& e) {
    return id(e.stream) + (e.target ? "target too large" : "head too large");
  }
  static std::string line(const H2Data&) { return {}; }
  static std::string line(const H2End& e) { return id(e.stream) + "end" + written(e.trailers); }
  static std::string line(const H2Reset& e) {
    return id(e.stream) + "reset " + std::to_string(e.code);
  }
  static std::string line(const H2Writable& e) { return id(e.stream) + "writable"; }
  static std::string line(const H2GoAway& e) {
    return "goaway " + id(e.last) + std::to_string(e.code);
  }
  void flush() {
    if (body_of_ != 0) text_ += id(body_of_) + "data " + body_ + "\n";
    body_of_ = 0;
    body_.clear();
  }

  std::string text_;
  StreamId body_of_ = 0;
  std::string body_;
};

// What a server makes of a client's bytes: its events, whether it lives, and its complaints.
struct Verdict {
  std::string events;
  std::string errors;
  bool alive = true;
  bool operator==(const Verdict&) const = default;
};

inline Verdict judge(H2Session::Role role, const std::vector<std::string_view>& pieces,
                     H2Limits limits = {}) {
  H2Session session(role, limits);
  Transcript transcript;
  Verdict verdict;
  for (const std::string_view piece : pieces) {
    verdict.alive = session.feed(piece);
    transcript.drain(session);
  }
  verdict.errors = errors_in(take_output(session));
  transcript.drain(session);
  verdict.events = transcript.text();
  return verdict;
}
// `bytes` come after the preface and SETTINGS.
inline Verdict server_on(std::string_view bytes, H2Limits limits = {}) {
  const std::string all = client_hello() + std::string(bytes);
  return judge(H2Session::Role::server, {all}, limits);
}

}  // namespace warder::test::h2
