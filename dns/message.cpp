#include "dns/message.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace warder::dns {
namespace {

constexpr std::size_t kHeaderSize = 12;
constexpr std::size_t kLongestName = 255;  // on the wire, with length bytes and the root
constexpr std::size_t kLongestLabel = 63;
constexpr std::uint16_t kClassIn = 1;
constexpr std::uint16_t kExtendedError = 15;     // EDNS option code, RFC 8914
constexpr std::uint16_t kOurUdpSize = 1232;      // what never fragments
constexpr std::uint16_t kSmallestUdpSize = 512;  // RFC 6891 section 6.2.3: less means this
constexpr std::size_t kLongestText = 200;        // a full name, an address and this stay under 512
constexpr std::uint16_t kDnssecOk = 0x8000;
constexpr std::uint16_t kCheckingDisabled = 0x0010;
constexpr std::size_t kLongestReverse = 74;  // on the wire: 32 nibbles below ip6.arpa
constexpr std::size_t kLongestPointer = 253;

// Takes from the front; after the first shortage everything fails.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::optional<std::string_view> bytes(std::size_t n) {
    if (rest_.size() < n) return std::nullopt;
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }
  std::optional<std::uint8_t> u8() {
    const auto taken = bytes(1);
    if (!taken) return std::nullopt;
    return static_cast<std::uint8_t>(taken->front());
  }
  std::optional<std::uint16_t> u16() {
    const auto taken = bytes(2);
    if (!taken) return std::nullopt;
    return static_cast<std::uint16_t>(static_cast<std::uint8_t>((*taken)[0]) << 8 |
                                      static_cast<std::uint8_t>((*taken)[1]));
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

void put16(std::string& out, unsigned value) {
  out += static_cast<char>(value >> 8 & 0xff);
  out += static_cast<char>(value & 0xff);
}

// Everything that no host name has, the dot within a label too, becomes \DDD: HostName refuses the
// backslash, so that no two names on the wire look alike to the policy.
void append_label(std::string& name, std::string_view label) {
  if (!name.empty()) name += '.';
  for (const char c : label) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    if (plain) {
      name += c;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    name += '\\';
    name += static_cast<char>('0' + byte / 100);
    name += static_cast<char>('0' + byte / 10 % 10);
    name += static_cast<char>('0' + byte % 10);
  }
}

// A name without compression: in a question there is nothing earlier to point to.
bool read_name(Reader& reader, Query& query) {
  while (true) {
    const auto length = reader.u8();
    if (!length || *length > kLongestLabel) return false;
    const auto label = reader.bytes(*length);
    if (!label) return false;
    query.wire_name += static_cast<char>(*length);
    query.wire_name += *label;
    if (query.wire_name.size() > kLongestName) return false;
    if (*length == 0) return true;
    append_label(query.name, *label);
  }
}

// Past a name whose text does not matter; a compression pointer ends it and is not followed.
bool skip_name(Reader& reader) {
  for (std::size_t size = 0; size <= kLongestName;) {
    const auto length = reader.u8();
    if (!length) return false;
    if (*length == 0) return true;
    if ((*length & 0xc0) == 0xc0) return reader.u8().has_value();
    if (*length > kLongestLabel || !reader.bytes(*length)) return false;
    size += 1U + *length;
  }
  return false;
}

bool options_well_formed(std::string_view data) {
  Reader reader(data);
  while (!reader.rest().empty()) {
    const auto code = reader.u16();
    const auto length = reader.u16();
    if (!code || !length || !reader.bytes(*length)) return false;
  }
  return true;
}

// One additional record: OPT is understood, others (TSIG, SIG(0)) are only stepped over.
bool read_additional(Reader& reader, Query& query) {
  const bool at_root = !reader.rest().empty() && reader.rest().front() == '\0';
  if (!skip_name(reader)) return false;
  const auto type = reader.u16();
  const auto klass = reader.u16();
  const auto extended = reader.u16();  // of the TTL: extended rcode and version …
  const auto flags = reader.u16();     // … and flags
  const auto length = reader.u16();
  if (!type || !klass || !extended || !flags || !length) return false;
  const auto data = reader.bytes(*length);
  if (!data) return false;
  if (*type != OPT) return true;
  const unsigned version = *extended & 0xffU;
  if (!at_root || query.edns || (version == 0 && !options_well_formed(*data))) return false;
  query.edns = true;
  query.edns_version = static_cast<std::uint8_t>(version);
  query.udp_size = std::max(*klass, kSmallestUdpSize);
  query.dnssec_ok = (*flags & kDnssecOk) != 0;
  return true;
}

bool read_sections(Reader& reader, Query& query) {
  const auto questions = reader.u16();
  const auto answers = reader.u16();
  const auto authorities = reader.u16();
  const auto additional = reader.u16();
  if (questions != 1 || answers != 0 || authorities != 0 || !additional) return false;
  if (!read_name(reader, query)) return false;
  const auto type = reader.u16();
  const auto klass = reader.u16();
  if (!type || !klass) return false;
  query.type = *type;
  query.klass = *klass;
  for (unsigned i = 0; i < *additional; ++i) {
    if (!read_additional(reader, query)) return false;
  }
  return reader.rest().empty();
}

// Cut between characters: the text is UTF-8 (RFC 8914 section 2).
std::string_view bounded_text(std::string_view text) {
  if (text.size() <= kLongestText) return text;
  std::size_t end = kLongestText;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

void put_opt(std::string& out, const Query& query, const Answer& answer) {
  std::string options;
  if (answer.extended_error && answer.pointer.empty()) {
    const std::string_view text = bounded_text(answer.extended_text);
    put16(options, kExtendedError);
    put16(options, static_cast<unsigned>(2 + text.size()));
    put16(options, *answer.extended_error);
    options += text;
  }
  out += '\0';
  put16(out, OPT);
  put16(out, kOurUdpSize);
  put16(out, static_cast<unsigned>(answer.rcode) >> 4 << 8);  // extended rcode, version 0
  put16(out, query.dnssec_ok ? kDnssecOk : 0U);
  put16(out, static_cast<unsigned>(options.size()));
  out += options;
}

void put_record(std::string& out, Type type, std::uint32_t ttl, std::string_view data) {
  put16(out, 0xc000U | kHeaderSize);  // the question's name
  put16(out, type);
  put16(out, kClassIn);
  put16(out, ttl >> 16);
  put16(out, ttl & 0xffff);
  put16(out, static_cast<unsigned>(data.size()));
  out += data;
}

// `name` is a host name: labels of 1 to 63 bytes, no dot at the end.
std::string on_wire(std::string_view name) {
  std::string out;
  for (;;) {
    const std::string_view label = name.substr(0, name.find('.'));
    out += static_cast<char>(label.size());
    out += label;
    if (label.size() == name.size()) return out + '\0';
    name.remove_prefix(label.size() + 1);
  }
}

// The answer section: how many records.
unsigned put_answers(std::string& out, const Query& query, const Answer& answer) {
  if (query.wire_name.empty() || answer.rcode != Rcode::noerror) return 0;
  if (answer.address) {
    const auto* bytes = reinterpret_cast<const char*>(answer.address->data());
    put_record(out, A, answer.ttl, {bytes, answer.address->size()});
    return 1;
  }
  const bool fits =
      query.wire_name.size() <= kLongestReverse && answer.pointer.size() <= kLongestPointer;
  if (answer.pointer.empty() || !fits) return 0;
  put_record(out, PTR, answer.ttl, on_wire(answer.pointer));
  return 1;
}

}  // namespace

std::optional<Query> parse_query(std::string_view packet) {
  if (packet.size() < kHeaderSize) return std::nullopt;
  Reader reader(packet);
  Query query;
  query.id = *reader.u16();
  const unsigned flags = *reader.u16();
  // Never an answer to an answer: two servers could send each other those for ever.
  if ((flags & 0x8000) != 0) return std::nullopt;
  query.opcode = static_cast<std::uint8_t>(flags >> 11 & 15);
  query.recursion_desired = (flags & 0x0100) != 0;
  query.checking_disabled = (flags & kCheckingDisabled) != 0;
  Query header_only = query;
  if (query.opcode != 0) return header_only;  // the sections of other operations mean other things
  if (!read_sections(reader, query)) return header_only;
  return query;
}

std::string write_answer(const Query& query, const Answer& answer) {
  const bool has_question = !query.wire_name.empty();
  std::string answers;
  const unsigned answer_count = put_answers(answers, query, answer);
  std::string out;
  put16(out, query.id);
  put16(out, 0x8080U | static_cast<unsigned>(query.opcode & 15U) << 11 |
                 (query.recursion_desired ? 0x0100U : 0U) |
                 (query.checking_disabled ? kCheckingDisabled : 0U) |
                 (static_cast<unsigned>(answer.rcode) & 15U));
  put16(out, has_question ? 1 : 0);
  put16(out, answer_count);
  put16(out, 0);
  put16(out, query.edns ? 1 : 0);
  if (has_question) {
    out += query.wire_name;
    put16(out, query.type);
    put16(out, query.klass);
  }
  out += answers;
  if (query.edns) put_opt(out, query, answer);
  assert(out.size() <= kSmallestUdpSize);
  return out;
}

std::string type_name(std::uint16_t type) {
  static constexpr std::pair<std::uint16_t, std::string_view> kNames[] = {
      {A, "A"},       {NS, "NS"},       {CNAME, "CNAME"}, {6, "SOA"},     {PTR, "PTR"},
      {MX, "MX"},     {TXT, "TXT"},     {AAAA, "AAAA"},   {SRV, "SRV"},   {35, "NAPTR"},
      {OPT, "OPT"},   {43, "DS"},       {44, "SSHFP"},    {48, "DNSKEY"}, {52, "TLSA"},
      {SVCB, "SVCB"}, {HTTPS, "HTTPS"}, {251, "IXFR"},    {252, "AXFR"},  {ANY, "ANY"},
      {257, "CAA"},
  };
  for (const auto& [number, name] : kNames) {
    if (number == type) return std::string(name);
  }
  return "TYPE" + std::to_string(type);  // RFC 3597
}

}  // namespace warder::dns
