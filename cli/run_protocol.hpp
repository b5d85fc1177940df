// What `warder run --gateway` and `warder gateway` say to each other on the admin socket, behind POST /v1/runs with
// Upgrade: warder-run (sandbox-launcher/channel.hpp frames it, descriptors beside it):
//
//   run → gateway   the request's body: RunRequest
//   gateway → run   RunWelcome (an HTTP error with one sentence when it is refused)
//   run → gateway   RunListeners with the sandbox's listening sockets
//   gateway → run   {"go": true}: the session's start is on the disk and it is served; or {"error": "…"}
//   gateway → run   {"say": "…"}, any time: a line for the person; {"summon": "…"}: one who should answer
//   run → gateway   RunReport, any time: what is executed in the sandbox, and at the end what it changed
//   run → gateway   {"published": RunPublished}, any time: a connection through a published port has ended
//   run → gateway   RunExit; a peer that goes without it is taken for killed
//   gateway → run   RunEnd
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bounds.hpp"
#include "cli/file_changes.hpp"
#include "proxy/denials.hpp"
#include "proxy/publish.hpp"

namespace warder {

inline constexpr const char* kRunPath = "/v1/runs";
inline constexpr const char* kRunUpgrade = "warder-run";

struct RunRequest {
  std::string policy;  // empty: the only one
  std::vector<std::string> command;
  std::map<std::string, std::string> env;  // as CMD will get it: looked through for values
  std::filesystem::path workspace;
};

struct RunWelcome {
  std::string session;
  std::string ca_pem;
  std::string ca_hash;
  std::map<std::string, std::string> placeholders;  // variable → placeholder
  std::vector<std::string> covered;
  std::vector<std::string> frozen;
  Bounds bounds;  // of the policy
};

struct RunListeners {
  std::uint16_t port = 0;
  std::vector<std::string> names;  // "tcp4", "dns_udp6", …: of the descriptors, in their order
  std::vector<HeldBound> bounds;   // as they are held
};

// What a run says last of all.
struct RunExit {
  int code = 0;
  std::vector<HeldBound> bounds;
};

// Told by the run, which the gateway has to believe.
struct RunReport {
  std::vector<std::string> packets;  // sandbox-launcher/exec_report.hpp; in base64
  std::optional<FileChanges> files;  // names in base64
};

struct RunEnd {
  std::vector<Denial> denials;
  std::uint64_t others = 0;
  std::uint64_t exchanges = 0;
  std::string audit_file;
  bool recorded = false;
};

struct RunPublished {
  std::string flag;
  std::uint16_t port = 0;
  PublishedEnd end;
};

// The run's end of the channel: several threads tell the gateway what they have seen.
class RunChannel {
 public:
  // A gateway that takes nothing for so long, or says nothing at the end, is as good as gone.
  static constexpr std::chrono::seconds kPatience{15};

  explicit RunChannel(int socket);
  // False, from then on too: the gateway has gone. Or this is too much for one message.
  bool send(const boost::json::value& what);

 private:
  const int socket_;
  std::mutex mutex_;
  bool is_gone_ = false;
};

boost::json::value to_json(const RunRequest& request);
boost::json::value to_json(const RunWelcome& welcome);
boost::json::value to_json(const RunListeners& listeners);
boost::json::value to_json(const RunReport& report);
boost::json::value to_json(const RunExit& exit);
boost::json::value to_json(const RunEnd& end);
boost::json::value to_json(const RunPublished& published);
// nullopt: it is not one.
std::optional<RunRequest> run_request_from(const boost::json::value& json);
std::optional<RunWelcome> run_welcome_from(const boost::json::value& json);
std::optional<RunListeners> run_listeners_from(const boost::json::value& json);
std::optional<RunReport> run_report_from(const boost::json::value& json);
std::optional<RunExit> run_exit_from(const boost::json::value& json);
std::optional<RunEnd> run_end_from(const boost::json::value& json);
std::optional<RunPublished> run_published_from(const boost::json::value& json);

}  // namespace warder
