// What is written down: one struct per event, values of secrets never among the fields.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/reason.hpp"

namespace warder::audit {

struct SessionStart {
  std::string session;
  std::string policy;
  std::string policy_sha256;         // of the effective policy's bytes
  std::vector<std::string> command;  // argv; placeholders only
  std::vector<std::string> secrets;  // names
  std::string previous;              // "<file> <size> <root>" of the run before; empty: none
  std::string mode = "enforce";      // or "observe": what no rule allows is let through
};
struct SessionEnd {
  std::string session;
  int exit_code = 0;
  std::uint64_t exchanges = 0;
  std::uint64_t refused = 0;
};

struct DnsQuery {
  std::string session;
  std::string name;
  std::string type;    // "A", "AAAA", "TYPE65"
  std::string answer;  // "198.18.0.7", "NODATA", "NXDOMAIN", "SERVFAIL"
  Reason reason = Reason::none;
  std::uint64_t count = 1;  // look-ups that this stands for; over 1 the name says so: "(57 more)"
  std::string rule{};       // the deny rule that refused it; empty: none
};

// Before an origin is dialled for its own sake: to learn what it speaks, when no request has come yet.
struct Dial {
  std::string session;
  std::string ingress;
  std::string authority;  // "https://api.test"
  std::string rule;
  std::string where;
};

// What happened to a secret that a session has.
struct SecretChange {
  std::string session;  // empty: a listener's token
  std::string secret;
  unsigned version = 1;  // from now on
  std::string change;    // "rotated", "revoked", "unavailable", "restored"
};

struct SecretUsed {
  std::string name;
  unsigned version = 1;
  std::string place;
};
// What went into a body or a WebSocket's messages, which the intent could only announce.
struct SecretSwapped {
  std::string name;   // or "foreign:stripped", "foreign:passed": a credential of the sandbox's own
  std::string place;  // "body:json:/key", "ws"
  std::uint64_t count = 0;
};
struct SecretMasked {
  std::string name;
  std::string place;     // "body", "header:location", "trailer:x-sum"
  std::string encoding;  // "raw", "base64"
  std::uint64_t count = 0;
};

// Before any request byte leaves. A refusal is an Intent with decision deny and no Receipt.
struct Intent {
  std::string session;
  std::uint64_t exchange = 0;    // counts within the session
  std::string ingress;           // "transparent"
  std::string protocol;          // "http/1.1", "tls", "tcp"
  std::string method;            // empty for a connection refused before a request
  std::string authority;         // origin(): "https://api.test"
  std::string path;              // as sent, placeholders as [secret:NAME]; query values as …
  std::string decision;          // "allow", "deny", "observe"
  Reason reason = Reason::none;  // of "observe": why it would have been refused
  std::string rule;
  std::string where;
  std::vector<SecretUsed> uses;
};

struct Receipt {
  std::string session;
  std::uint64_t exchange = 0;
  std::uint64_t intent_seq = 0;
  std::string upstream;     // "127.0.0.1:8443", the address dialled
  std::string tls;          // "TLSv1.3 TLS_AES_256_GCM_SHA384"
  std::string leaf_sha256;  // of the origin's certificate
  int status = 0;
  std::uint64_t bytes_up = 0;  // body bytes
  std::uint64_t bytes_down = 0;
  std::vector<SecretMasked> masked;
  std::vector<SecretSwapped> swapped;
  Reason reason = Reason::none;  // how it ended
  std::string side;              // "client", "upstream", "warder": whose fault a bad end is
  std::chrono::microseconds connect{0};
  std::chrono::microseconds first_byte{0};
  std::chrono::microseconds total{0};
};

using Record =
    std::variant<SessionStart, SessionEnd, DnsQuery, Dial, SecretChange, Intent, Receipt>;

}  // namespace warder::audit
