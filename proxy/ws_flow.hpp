// One direction of a WebSocket on its way through: frames in, frames out, and every message through a filter. Pure.
// A frame leaves as it came, header, key and all, unless its size may change on the way: because the filter may hold its
// end back into the next fragment, or change lengths. Such a frame is gathered up to kPiece and leaves with the length
// that it then has; a longer one leaves as several fragments of the same message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/ws_frames.hpp"
#include "secrets/body_swap.hpp"
#include "secrets/mask.hpp"
#include "secrets/swap.hpp"

namespace warder {

// What the messages of one direction go through. A control frame may come in the middle of a message and is looked at for
// itself.
class WsFilter {
 public:
  virtual ~WsFilter() = default;
  virtual void begin_message(WsOpcode kind) = 0;
  virtual std::string_view feed(std::string_view plain, std::string& scratch) = 0;
  virtual std::string_view finish(std::string& scratch) = 0;
  virtual std::size_t held() const = 0;
  // Will this frame leave with as many bytes as it has and feed() holds before it?
  virtual bool keeps_size(const WsHeader& frame) const = 0;
  virtual void filter_control(std::string& text) = 0;
  // Nothing of what was fed last, and nothing after it, may leave.
  virtual bool has_hit() const { return false; }
};

// Client → origin: a placeholder in a message is swapped where the plan says, else a tripwire; in a control frame always.
class WsTripwire final : public WsFilter {
 public:
  explicit WsTripwire(const SessionSecrets& secrets) : secrets_(secrets) {}  // borrowed
  WsTripwire(const SessionSecrets& secrets, BodyPlan plan)
      : secrets_(secrets), plan_(std::move(plan)) {}
  void begin_message(WsOpcode kind) override;
  std::string_view feed(std::string_view plain, std::string& scratch) override;
  std::string_view finish(std::string& scratch) override;
  std::size_t held() const override;
  bool keeps_size(const WsHeader& frame) const override;
  void filter_control(std::string& text) override;
  bool has_hit() const override { return refusal().has_value(); }
  std::optional<SwapRefusal> refusal() const;
  // What was swapped since this was last asked.
  std::vector<BodySwap::Count> take_counts() { return std::exchange(counts_, {}); }

 private:
  std::string_view swapped();

  const SessionSecrets& secrets_;
  BodyPlan plan_;
  std::optional<BodyTripwire> wire_;  // of the present message, without a plan
  std::optional<BodySwap> swap_;      // with one
  WipedBytes out_;
  std::optional<BodyTripwire> control_wire_;
  std::vector<BodySwap::Count> counts_;
};

// Origin → client: values become placeholders.
class WsMask final : public WsFilter {
 public:
  WsMask(const MaskSet& set, Masker::Holding holding) : set_(set), holding_(holding) {}  // borrowed
  void begin_message(WsOpcode kind) override;
  std::string_view feed(std::string_view plain, std::string& scratch) override;
  std::string_view finish(std::string& scratch) override;
  std::size_t held() const override { return masker_ ? masker_->held() : 0; }
  bool keeps_size(const WsHeader& frame) const override;
  void filter_control(std::string& text) override;
  // The word that a message so far ends in waits only for a moment (secrets/mask.hpp).
  bool holds_a_word() const { return holding_ == Masker::Holding::words && held() > 0; }
  // What finish() found since this was last asked.
  std::vector<Masker::Count> take_counts() { return std::exchange(counts_, {}); }

 private:
  void count(const Masker& masker);

  const MaskSet& set_;
  const Masker::Holding holding_;
  std::optional<Masker> masker_;  // of the present message; none where there is nothing to mask
  std::vector<Masker::Count> counts_;
};

class WsFlow {
 public:
  static constexpr std::size_t kPiece = 16 * 1024;

  WsFlow(WsParser::Sender sender, WsFilter& filter) : parser_(sender), filter_(filter) {}

  enum class Outcome : std::uint8_t {
    more,       // all that can be used of `in` is used
    closed,     // a Close frame stands at the end of `out`: nothing may follow it
    malformed,  // error() says how
    hit,        // the filter has one: `out` must not leave
    unfit,      // the filter's result has no room in its frame
  };
  // Appends to `out` what leaves. What is left of `in`, less than kPiece, must stand at the front of the next one.
  Outcome pass(std::string_view& in, std::string& out);
  WsError error() const { return parser_.error(); }

  // Between two fragments of a message: may what the filter holds go?
  bool is_between_frames() const { return parser_.is_between_frames(); }
  // Lets go of what the filter holds, as a fragment of its own; what comes behind it begins anew. Between frames only.
  void release(std::string& out);

  // May a frame of somebody else's stand behind what has left?
  bool is_at_border() const { return committed_ == 0; }
  std::uint64_t payload_bytes() const { return payload_bytes_; }  // that were let out

 private:
  void begin_frame(std::string& out);
  Outcome pass_payload(std::string& out);
  Outcome end_frame(std::string& out);
  Outcome end_control(std::string& out);
  std::string unmasked_payload() const;
  bool append(std::string_view text, std::string& out);
  void emit(bool fin, std::string& out);

  WsParser parser_;
  WsFilter& filter_;
  WsOpcode opcode_ = WsOpcode::text;  // of the message; continuation once a fragment of it has left
  bool gathers_ = false;              // the present frame's size is not known before its end
  WipedBytes gathered_;               // what of it leaves
  std::string control_;
  std::uint64_t committed_ = 0;  // bytes that a header which has left promises
  std::uint64_t offset_ = 0;     // of the next one of them in its frame
  std::uint64_t payload_bytes_ = 0;
};

// A Close frame of Warder's own. `key`: towards a server.
std::string ws_close(std::uint16_t code, std::string_view reason, std::optional<WsKey> key);

}  // namespace warder
