// An origin that speaks HTTP/1.1: one exchange after another on a connection.
#pragma once

#include <functional>
#include <memory>

#include "http/h1_parser.hpp"
#include "proxy/input.hpp"
#include "proxy/legs.hpp"
#include "proxy/upstream.hpp"

namespace warder {

// The connection between exchanges.
struct H1Connection {
  H1Connection(Upstream opened, HeadLimits limits)
      : upstream(std::move(opened)), parser(H1Parser::Role::response, limits) {}
  // Has the origin closed it, or said something nobody asked for?
  bool is_stale() {
    return !input.empty() || !upstream.stream->is_open() || !upstream.stream->is_quiet();
  }

  Upstream upstream;
  Input input;
  H1Parser parser;
  bool was_used = false;
  std::uint64_t revocations = 0;  // of its session's secrets, when it was opened
  SteadyTime idle_since{};
};

class H1Origin final : public OriginLeg {
 public:
  // `give_back` takes the connection when the exchange left it clean.
  using GiveBack = std::function<void(std::unique_ptr<H1Connection>)>;
  H1Origin(std::unique_ptr<H1Connection> connection, SteadyDuration write_limit,
           GiveBack give_back);

  Task<Sent> send_head(RequestHead head, const Framing& framing,
                       std::vector<std::string> secret_fields) override;
  Task<bool> send_body(std::string_view piece) override;
  Task<Sent> send_end(const HeaderList& trailers) override;
  Task<std::optional<BodyStep>> read_head() override;
  ResponseHead& head() override { return connection_->parser.response(); }
  Framing framing() const override { return connection_->parser.framing(); }
  std::optional<BodyStep> try_read_body() override;
  Task<BodyStep> read_body() override;
  HeaderList& trailers() override { return connection_->parser.trailers(); }
  void end_reads_at(SteadyTime deadline) override { stream().end_reads_at(deadline); }
  void limit_reads(SteadyDuration limit) override { stream().limit_reads(limit); }
  bool has_spoken() const override { return spoken_ || connection_->parser.started(); }
  bool is_reused() const override { return reused_; }
  void abort() override { stream().abort(); }
  void close() override { stream().close(); }
  void release(Border border) override;
  const UpstreamFacts& facts() const override { return connection_->upstream.facts; }
  std::optional<RawLeg> hand_over() override {
    give_back_ = nullptr;  // what speaks another protocol is nobody else's
    return RawLeg{stream(), connection_->input};
  }

 private:
  Stream& stream() { return *connection_->upstream.stream; }
  // What the bytes that are here say; need_more: nothing.
  H1Event parse();
  // The next event that is not need_more; nullopt when `why` says that there is none.
  Task<std::optional<H1Event>> next_event(BodyStep& why);
  BodyStep step_of(H1Event event);

  std::unique_ptr<H1Connection> connection_;
  GiveBack give_back_;
  std::string method_;
  std::string frame_;
  bool chunked_ = false;
  bool body_is_secret_ = false;
  bool reused_ = false;
  bool spoken_ = false;  // an interim head was read: started() counts anew behind it
};

}  // namespace warder
