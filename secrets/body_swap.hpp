// Placeholder → value in a body on its way out, where the plan says; any other placeholder is a
// tripwire. Streaming: what is held is at most the value at one place, or what may become a
// placeholder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "secrets/body_plan.hpp"
#include "secrets/grpc_messages.hpp"
#include "secrets/place_finder.hpp"
#include "secrets/swap.hpp"
#include "secrets/wiped.hpp"

namespace warder {

class BodySwap {
 public:
  // As spelt, the value of a JSON pointer or form key: it leaves only when it is whole.
  static constexpr std::size_t kMaxValue = 64 * 1024;

  BodySwap(const SessionSecrets& secrets, const BodyPlan& plan);  // both are borrowed
  BodySwap(const BodySwap&) = delete;

  // Appends to `out` what may leave now. False: refusal() says why, and of `out` nothing may leave.
  bool feed(std::string_view in, WipedBytes& out);
  bool finish(WipedBytes& out);
  // placeholder_wrong_place (whether a grant names the host at all is for the caller to say),
  // placeholder_foreign, foreign_credential, secret_revoked, secret_unavailable, body_unswappable.
  const std::optional<SwapRefusal>& refusal() const { return refusal_; }
  std::size_t held() const { return pending_.size() + value_.size() + (wire_ ? wire_->held() : 0); }

  struct Count {
    std::string name;  // of the secret; "foreign:stripped", "foreign:passed"
    unsigned version = 0;
    std::string place;
    std::uint64_t count = 0;
  };
  // What was put in since this was last asked.
  std::vector<Count> take_counts() { return std::exchange(counts_, {}); }

 private:
  enum class Input : bool { more, last };
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  // A placeholder in what a text spells.
  struct Found {
    std::size_t begin;
    std::size_t end;
    std::uint32_t credential;  // kNobody: another session's
  };

  bool feed_frames(std::string_view in, WipedBytes& out);
  bool scan(std::string_view in, Input input, const BodyPlace* entry, WipedBytes& out);
  bool end_value(WipedBytes& out);
  bool pass_credential(const BodyPlace& entry, const PlaceRun& run, std::string_view value,
                       WipedBytes& out);
  // `spelt`: how many bytes the placeholder takes.
  bool put_value(const Found& found, std::size_t spelt, const BodyPlace* entry, WipedBytes& out);
  bool put_source(std::string_view text, WipedBytes& out);
  bool sprung();
  void restart();
  std::optional<Found> first_in(std::string_view plain, StreamScanner::Input input);
  bool refuse(Reason reason, std::uint32_t credential, std::string place, std::string why);
  void count(const std::string& name, unsigned version, const std::string& place);

  const SessionSecrets& secrets_;
  const BodyPlan& plan_;
  const SessionSecrets::Foreign foreign_;
  const Escapes escapes_;
  const BodyPlace* anywhere_ = nullptr;
  std::vector<const BodyPlace*> values_;  // by the finder's numbers
  std::unique_ptr<PlaceFinder> finder_;
  std::optional<GrpcMessages> frames_;
  bool may_swap_ = true;  // in this part of the body
  std::vector<unsigned> left_;

  StreamScanner own_;
  std::optional<StreamScanner> others_;
  std::string pending_;               // outside of the values, from where a placeholder may begin
  std::optional<BodyTripwire> wire_;  // over what leaves as it came, spelt as it is
  std::optional<PlaceRun> value_of_;  // the place that we are in
  std::string value_;                 // there, so far
  std::vector<Count> counts_;
  std::optional<SwapRefusal> refusal_;
};

}  // namespace warder
