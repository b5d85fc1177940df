// An origin that speaks HTTP/2: many exchanges at once on a connection.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "proxy/gateway.hpp"
#include "proxy/h2_channel.hpp"
#include "proxy/legs.hpp"
#include "proxy/upstream.hpp"

namespace warder {

// Shared by its legs and its own two loops; ends when the last of them lets go, or the origin does.
struct H2Connection {
  H2Connection(Worker& worker, Upstream opened, HeadLimits limits);
  ~H2Connection();
  bool is_idle() const { return promised == 0 && peer->streams() == 0; }
  // Starts the loops. The connection ends after `idle` without a stream.
  static void run(const std::shared_ptr<H2Connection>& connection, Worker& worker,
                  SteadyDuration idle);

  Upstream upstream;
  Input input;
  const std::shared_ptr<H2Peer> peer;
  bool was_used = false;
  std::size_t promised = 0;  // legs whose streams are not open yet
};

class H2Origin final : public OriginLeg {
 public:
  // `on_end` is called when there may be room for another stream.
  using OnEnd = std::function<void()>;
  H2Origin(std::shared_ptr<H2Connection> connection, SteadyDuration write_limit, OnEnd on_end);
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
  HeaderList& trailers() override { return stream_ ? stream_->trailers() : no_trailers_; }
  void end_reads_at(SteadyTime deadline) override;
  void limit_reads(SteadyDuration limit) override;
  bool has_spoken() const override { return spoken_; }
  bool is_reused() const override { return reused_; }
  bool was_refused() const override;
  void abort() override { give_up(H2Code::cancel); }
  void close() override;
  void release(Border border) override;
  const UpstreamFacts& facts() const override { return connection_->upstream.facts; }

 private:
  void give_up(H2Code code);
  void keep_promise();
  BodyStep lost() const;
  bool is_gone() { return !stream_ || stream_->box().gone; }
  // False: the deadline passed.
  Task<bool> wait_for_event();
  void wake_reader();

  std::shared_ptr<H2Connection> connection_;
  std::optional<H2Channel> stream_;  // once it is open
  HeaderList no_trailers_;
  SteadyDuration write_limit_;
  OnEnd on_end_;
  SteadyTime deadline_ = SteadyTime::max();
  SteadyDuration limit_ = std::chrono::hours(24);
  H2ResponseHead head_{};
  bool promised_ = true;
  bool reused_ = false;
  bool spoken_ = false;
  bool closed_ = false;
  bool sent_end_ = false;
};

}  // namespace warder
