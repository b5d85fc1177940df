// The process that makes sockets in a sandbox's network for `warder`, which lies outside: each is handed over
// unconnected. It joins the user and the network namespace, keeps the host's view of all else, and can do nothing more.
#pragma once

namespace warder {

// One byte of a request: '4' or '6'. Of the answer: the same with the socket beside it, or '-'.
inline constexpr char kWantIpv4 = '4';
inline constexpr char kWantIpv6 = '6';
inline constexpr char kNoSocket = '-';
// The first byte it says, unasked, when it stands.
inline constexpr char kMakerReady = '+';

// Runs until `channel` ends. The exit code says which step failed.
int make_sockets(int user_namespace, int network_namespace, int channel);

}  // namespace warder
