// What passed through published ports, in the log of the gateway that the run has, in this process or elsewhere.
#pragma once

#include "audit/log.hpp"
#include "cli/run_protocol.hpp"
#include "proxy/publish.hpp"
#include "proxy/session.hpp"

namespace warder {

// As an exchange of the session: the intent before a byte passes, the receipt after the last.
class LogPublishRecorder final : public PublishRecorder {
 public:
  LogPublishRecorder(audit::Log& log, Session& session) : log_(log), session_(session) {}
  Task<std::optional<Ticket>> begin(const PublishedPort& port) override;
  void end(const PublishedPort& port, const Ticket& ticket, const PublishedEnd& end) override;

 private:
  audit::Log& log_;
  Session& session_;
};

// Tells the gateway, when a connection has ended; it writes both records.
class RemotePublishRecorder final : public PublishRecorder {
 public:
  explicit RemotePublishRecorder(RunChannel& channel) : channel_(channel) {}
  Task<std::optional<Ticket>> begin(const PublishedPort& port) override;
  void end(const PublishedPort& port, const Ticket& ticket, const PublishedEnd& end) override;

 private:
  RunChannel& channel_;
};

// On the gateway's side. False: the log did not take it.
bool record_published(audit::Log& log, Session& session, const RunPublished& what);

}  // namespace warder
