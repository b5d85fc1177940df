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
  std::int64_t uid = -1;  // who began it, by the kernel's word; -1: nobody, it is a listener's
  std::string user{};     // the uid's name
  std::string host{};
  std::string cwd{};            // of the command
  std::string config_sha256{};  // of the configuration file's bytes; empty: there is none
  std::string profile{};        // empty: none
  std::string kernel{};
};
struct SessionEnd {
  std::string session;
  int exit_code = 0;
  std::uint64_t exchanges = 0;
  std::uint64_t refused = 0;
  std::string ended =
      "listener";  // "exit", "signal": of CMD; "killed": the sandbox, before CMD ended; "gone": the runner
  std::uint64_t execs = 0;
  std::uint64_t missing_execs = 0;  // of files that were not there: no part of execs
  std::uint64_t files = 0;          // changed in the workspace
};

// A process becomes another program: recorded before it does.
struct Exec {
  std::string session;
  std::uint64_t exec = 0;  // 1, 2, 3 … in the session
  std::uint32_t pid = 0;   // as the sandbox sees it
  std::uint32_t parent = 0;
  std::string path;
  std::string cwd;
  std::vector<std::string> argv;  // placeholders as [secret:NAME]
  std::uint32_t left_out = 0;     // arguments that are not among argv
  std::uint64_t count = 1;        // equal ones that this stands for
  std::string note;               // "", "repeated", "unread", "capped", "unrecorded"
  std::string told_by;            // "launcher", "runner"
};
// The process whose last Exec this was has ended.
struct Exit {
  std::string session;
  std::uint64_t exec = 0;
  std::uint32_t pid = 0;
  std::int32_t exit_code = -1;  // 128+n for a signal; -1: not known
  std::uint32_t signal = 0;
  std::string told_by;
};

struct FileChanged {
  std::string path;    // below the workspace
  std::string change;  // "created", "changed", "removed", "mode"
};
// What is different in the workspace after CMD, in as many records as it takes.
struct FilesChanged {
  std::string session;
  std::vector<FileChanged> changes;
  std::uint64_t git_objects = 0;  // created below .git/objects: not among the changes
  std::uint64_t more = 0;         // changes that are in no record
  // "", "partial": the tree was too large to be known whole; "clone": the host's is as it was; "unread"
  std::string note;
  std::string told_by;
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

// A reload: another policy for a session, or a configuration that was refused, which changes nothing.
struct PolicyChange {
  std::string session;        // empty: of none, the configuration was refused
  std::string policy;         // its name
  std::string policy_sha256;  // of the effective policy's bytes, from now on
  std::string change;         // "replaced", "removed", "refused"
  std::string by;             // "SIGHUP", "file", "uid 1000"
  std::string detail;         // why it was refused
};

// A bound of the sandbox: what holds it, and what became of it.
struct BoundState {
  std::string session;
  std::string name;   // "memory"
  std::string value;  // "2GiB", as it was given
  std::string
      mechanism;  // "cgroup v1", "cgroup v2", "watcher", "rlimit", "affinity", "tmpfs", "pipe", "clock"
  std::string
      state;  // "held", from the start on; "reached": something was refused; "ended": the command was
  std::uint64_t used = 0;
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

// What somebody, or the time that was over, said to a request that a rule asks about: before it goes on.
struct Approval {
  std::string session;
  std::string id;        // of the question
  std::string decision;  // "allow", "deny", "timeout"
  std::string scope;     // "once", "rule"; empty: no yes
  std::string until;     // RFC 3339; empty: no rule
  std::string rule;
  std::string where;
  std::string method;
  std::string authority;
  std::string path;           // as in an Intent
  std::string fields_sha256;  // of the header fields, placeholders as they are
  std::string body_sha256;    // empty: the body was not read, and nothing is said of it
  std::uint64_t count = 1;    // requests that it lets pass, or refuses
  std::string how;            // "cli", "api"; empty: nobody answered
  std::int64_t uid = -1;      // of the peer on the admin socket
  std::int64_t pid = -1;
  std::string user;
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
  std::uint64_t approval_seq = 0;  // of the Approval that lets it pass; 0: none was asked for
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

using Record = std::variant<SessionStart, SessionEnd, Exec, Exit, FilesChanged, DnsQuery, Dial,
                            SecretChange, PolicyChange, Approval, Intent, Receipt, BoundState>;

}  // namespace warder::audit
