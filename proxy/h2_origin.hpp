// An origin that speaks HTTP/2: many exchanges at once on a connection.
#pragma once

#include <array>
#include <memory>

#include "proxy/gateway.hpp"
#include "proxy/h2_peer.hpp"
#include "proxy/legs.hpp"
#include "proxy/upstream.hpp"

namespace warder {

// Shared by its legs and its own two loops; ends when the last of them lets go, or the origin does.
struct H2Connection {
  H2Connection(Worker& worker, Upstream opened, HeadLimits limits);
  ~H2Connection();
  // Starts the loops. The connection ends after `idle` without a stream.
  static void run(const std::shared_ptr<H2Connection>& connection, Worker& worker, SteadyDuration idle);

  Upstream upstream;
  Input input;
  H2Peer peer;
  bool was_used = false;
};

class H2Origin final : public OriginLeg {
 public:
  explicit H2Origin(std::shared_ptr<H2Connection> connection, SteadyDuration write_limit);
  ~H2Origin() override;

  Task<Sent> send_head(RequestHead head, const Framing& framing,
                       std::vector<std::string> secret_fields) override;
  Task<bool> send_body(std::string_view piece) override;
  Task<Sent> send_end(const HeaderList& trailers) override;
  Task<std::optional<BodyStep>> read_head() override;
  ResponseHead& head() override { return head_.head; }
  Framing framing() const override;
  std::optional<BodyStep> try_read_body() override;
  Task<BodyStep> read_body() override;
  HeaderList& trailers() override { return trailers_; }
  void end_reads_at(SteadyTime deadline) override;
  void limit_reads(SteadyDuration limit) override;
  bool has_spoken() const override { return spoken_; }
  bool is_reused() const override { return reused_; }
  void abort() override { give_up(H2Code::cancel); }
  void close() override;
  void release(Border border) override;
  const UpstreamFacts& facts() const override { return connection_->upstream.facts; }

 private:
  H2Session& session() { return connection_->peer.session(); }
  void give_up(H2Code code);
  void give_back_window();
  BodyStep step_of(H2Event event);
  BodyStep lost() const;
  // False: the deadline passed.
  Task<bool> wait_for_event();

  std::shared_ptr<H2Connection> connection_;
  StreamId stream_ = 0;
  H2Box* box_ = nullptr;  // the peer's, while the stream is open
  SteadyDuration write_limit_;
  SteadyTime deadline_ = SteadyTime::max();
  SteadyDuration limit_ = std::chrono::hours(24);
  H2ResponseHead head_{};
  HeaderList trailers_;
  std::array<std::string, 2> pieces_;  // the one that is out, and the one before it
  std::size_t which_ = 0;
  std::size_t taken_ = 0;
  bool reused_ = false;
  bool spoken_ = false;
  bool closed_ = false;
  bool read_end_ = false;
  bool sent_end_ = false;
};

}  // namespace warder
