#include "cli/publish_records.hpp"

#include <future>

#include "proxy/record.hpp"

namespace warder {
namespace {

constexpr std::size_t kMostText = 256;

audit::Intent intent_of(Session& session, const std::string& flag, std::uint16_t port) {
  audit::Intent intent;
  intent.session = session.id;
  intent.exchange = ++session.exchanges;
  intent.ingress = kPublishIngress;
  intent.protocol = "tcp";
  intent.authority = "tcp://127.0.0.1:" + std::to_string(port);
  intent.decision = "allow";
  intent.rule = "publish";
  intent.where = flag.substr(0, kMostText);
  return intent;
}

audit::Receipt receipt_of(const Session& session, const PublishRecorder::Ticket& ticket,
                          const PublishedEnd& end) {
  audit::Receipt receipt;
  receipt.session = session.id;
  receipt.exchange = ticket.exchange;
  receipt.intent_seq = ticket.intent_seq;
  receipt.upstream = end.upstream.substr(0, kMostText);
  receipt.bytes_up = end.up;
  receipt.bytes_down = end.down;
  receipt.reason = end.reason;
  receipt.connect = end.connect;
  receipt.total = end.total;
  return receipt;
}

}  // namespace

Task<std::optional<PublishRecorder::Ticket>> LogPublishRecorder::begin(const PublishedPort& port) {
  audit::Intent intent = intent_of(session_, port.flag, port.port);
  Ticket ticket;
  ticket.exchange = intent.exchange;
  audit::Record entry(std::move(intent));
  const auto sequence = co_await record(log_, std::move(entry), audit::Durability::accepted, 1);
  if (!sequence) co_return std::nullopt;
  ticket.intent_seq = *sequence;
  co_return ticket;
}

void LogPublishRecorder::end(const PublishedPort&, const Ticket& ticket, const PublishedEnd& end) {
  (void)log_.append_receipt(receipt_of(session_, ticket, end));  // the log's health ends the run
}

Task<std::optional<PublishRecorder::Ticket>> RemotePublishRecorder::begin(const PublishedPort&) {
  co_return Ticket{};
}

void RemotePublishRecorder::end(const PublishedPort& port, const Ticket&, const PublishedEnd& end) {
  const RunPublished said{port.flag, port.port, end};
  (void)channel_.send(to_json(said));
}

bool record_published(audit::Log& log, Session& session, const RunPublished& what) {
  audit::Intent intent = intent_of(session, what.flag, what.port);
  PublishRecorder::Ticket ticket;
  ticket.exchange = intent.exchange;
  std::promise<std::pair<bool, std::uint64_t>> done;
  log.append(audit::Record(std::move(intent)), audit::Durability::accepted, 1,
             [&done](bool ok, std::uint64_t sequence) { done.set_value({ok, sequence}); });
  const auto [ok, sequence] = done.get_future().get();
  if (!ok) return false;
  ticket.intent_seq = sequence;
  return log.append_receipt(receipt_of(session, ticket, what.end));
}

}  // namespace warder
