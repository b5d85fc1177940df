// DNS messages as far as a sandbox's resolver needs them (RFC 1035, RFC 6891, RFC 8914): one question in, one answer out.
// Pure; refuses what is malformed and never reads past the end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warder::dns {

enum Type : std::uint16_t {
  A = 1,
  NS = 2,
  CNAME = 5,
  PTR = 12,
  MX = 15,
  TXT = 16,
  AAAA = 28,
  SRV = 33,
  OPT = 41,
  SVCB = 64,
  HTTPS = 65,
  ANY = 255
};
enum class Rcode : std::uint8_t {
  noerror = 0,
  formerr = 1,
  servfail = 2,
  nxdomain = 3,
  notimp = 4,
  refused = 5,
  badvers = 16  // RFC 6891: only to those who sent EDNS
};

struct Query {
  std::uint16_t id = 0;
  std::uint8_t opcode = 0;
  bool recursion_desired = false;
  std::string wire_name;  // as sent, case kept, for the echo
  std::string name;  // presentation form, no trailing dot; "\\DDD" for odd bytes; "" for the root
  std::uint16_t type = 0;
  std::uint16_t klass = 0;
  bool checking_disabled = false;  // echoed, RFC 4035 section 3.2.2
  bool edns = false;
  std::uint8_t edns_version =
      0;  // another than 0 means BADVERS; its options have not been looked at
  std::uint16_t udp_size = 512;
  bool dnssec_ok = false;  // echoed, RFC 3225
};

// nullopt: not even a header, or a response: send nothing. A Query whose `wire_name` is empty has no question
// that could be read: with `opcode` 0 that means FORMERR, with another NOTIMP (ask for the opcode first).
// `name` escapes whatever is not a letter, digit, '-' or '_', so that HostName::parse refuses it.
std::optional<Query> parse_query(std::string_view packet);

struct Answer {
  Rcode rcode = Rcode::noerror;
  std::optional<std::array<std::uint8_t, 4>> address = std::nullopt;  // an A record
  std::string pointer = {};  // a PTR record, when not empty: a host name, at most 253 bytes
  std::uint32_t ttl = 60;
  std::optional<std::uint16_t> extended_error = std::nullopt;  // RFC 8914: 15 = blocked, 0 = other
  std::string extended_text = {};
};
// Echoes id, question, RD, CD and DO; sets QR, RA. Address and pointer go out only with `noerror`, the
// pointer only where the question is no longer than a reverse name, the extended error only to those
// who sent EDNS, and not beside a pointer. Never over 512 bytes, so that it fits every query's udp_size
// and nothing is ever truncated: `extended_text` is cut at 200 bytes.
std::string write_answer(const Query& query, const Answer& answer);

std::string type_name(std::uint16_t type);  // "A", "HTTPS", "TYPE1234"

}  // namespace warder::dns
