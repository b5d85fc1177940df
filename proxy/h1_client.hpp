// A sandbox that speaks HTTP/1.x: one exchange after another on its connection.
#pragma once

#include "proxy/connection.hpp"
#include "proxy/legs.hpp"

namespace warder {

class H1Client final : public ClientLeg {
 public:
  explicit H1Client(Connection& connection) : connection_(connection) {}

  Task<BodyStep> read_body() override;
  HeaderList& trailers() override { return connection_.parser.trailers(); }
  void stop_reading() override;
  Task<bool> write_interim(const ResponseHead& head) override;
  bool begin_answer(const ResponseHead& head, Delivery delivery) override;
  bool take_back() override;
  void hold(std::string_view piece) override { held_ = piece; }
  bool hold_end(std::string_view rest, const HeaderList& trailers) override;
  Task<bool> flush() override;
  std::uint64_t bytes_written() const override { return bytes_written_; }
  void watch(Closable* origin) override { connection_.stream.close_with_me(origin); }
  void abort() override { connection_.stream.abort(); }
  std::optional<RawLeg> hand_over() override {
    return RawLeg{connection_.stream, connection_.input};
  }

 private:
  void add(std::string_view piece);

  Connection& connection_;
  Delivery delivery_ = Delivery::none;
  std::string out_;  // head and framing that wait for the next flush
  std::string_view held_;
  bool left_ = false;  // something of the answer
  std::uint64_t bytes_written_ = 0;
  bool stopped_ = false;
  bool reads_body_ = false;
};

}  // namespace warder
