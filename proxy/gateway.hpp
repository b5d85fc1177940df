// What every connection of one gateway borrows. Made by the command, outlives the workers' loops.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "audit/log.hpp"
#include "certs/leaf_cache.hpp"
#include "config/config.hpp"
#include "http/message.hpp"
#include "proxy/file_budget.hpp"
#include "proxy/resolve.hpp"
#include "proxy/tls.hpp"
#include "proxy/version_cache.hpp"

namespace warder {

// docs/limits.md says what happens at each.
struct GatewayLimits {
  std::uint64_t connections_per_session = 4096;
  std::uint64_t strangers_per_session = 2048;  // at a listener, before they have shown its token
  std::uint64_t patient_strangers = 256;       // beyond it each of them has `stranger_hurry`
  std::chrono::milliseconds stranger_hurry{1'000};
  std::chrono::milliseconds handshake{10'000};
  std::chrono::milliseconds request_head{30'000};
  std::chrono::milliseconds keep_alive{75'000};         // between two requests
  std::chrono::milliseconds client_idle{300'000};       // between two bytes of a body
  std::chrono::milliseconds websocket_idle{3'600'000};  // without a byte either way
  std::chrono::milliseconds websocket_close{30'000};    // after one side's Close, for the other's
  std::chrono::milliseconds first_bytes{1'500};         // on a port where no protocol is given
  std::chrono::milliseconds raw_idle{
      3'600'000};  // of `tcp` and `tunnel`: no byte in either direction
  std::chrono::milliseconds resolve{10'000};
  std::chrono::milliseconds linger{
      2'000};  // after an answer that the client was still talking over
  std::uint64_t linger_bytes = 8 << 20;
  HeadLimits head;
};

struct Gateway {
  const UpstreamConfig& upstream;
  audit::Log& audit;
  LeafCache& leaves;
  const SandboxTls& sandbox_tls;
  const UpstreamTls& upstream_tls;
  Resolver& resolver;
  GatewayLimits limits;
  VersionCache versions{};
  FileBudget files{};

  std::uint64_t most_connections() const {
    return std::min(limits.connections_per_session, files.of_each());
  }
};

}  // namespace warder
