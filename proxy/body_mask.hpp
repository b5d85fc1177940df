// One response body on its way through the mask: undone, searched, and put into the same codings again. Knows no socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/coding.hpp"
#include "http/coding_decoder.hpp"
#include "http/coding_encoder.hpp"
#include "http/message.hpp"
#include "proxy/grpc_mask.hpp"
#include "secrets/followed_mask.hpp"

namespace warder {

// May the origin know a value that it was not sent now? From one that may, what cannot be searched does not pass.
enum class MayKnow : bool { no, yes };

// What is to be done so that a body can be searched.
struct MaskPlan {
  std::vector<Coding> undone;  // in the order in which they were applied
  bool grpc = false;
  GrpcMask::Compression compression = GrpcMask::Compression::none;  // of gRPC messages
  GrpcMask::Unreadable unreadable = GrpcMask::Unreadable::refused;
  // Why it must not pass at all; empty: it may.
  std::string refused;

  // May it leave with another length than it came with, whatever the mask does?
  bool recodes() const;
};
MaskPlan plan_mask(const ResponseHead& head, const Framing& framing, const FollowedMask& masks,
                   MayKnow origin);

class BodyMask {
 public:
  BodyMask(const FollowedMask& masks, Masker::Holding holding, const MaskPlan& plan);
  BodyMask(const BodyMask&) = delete;
  BodyMask& operator=(const BodyMask&) = delete;

  // What may leave of `piece` now. While has_more(), there is more of it: each call of more() does a bounded part of
  // the work, so that a few bytes which unfold into many stop nobody else. `piece` is borrowed until then, and each result
  // until the next call. Of a failure() nothing more leaves.
  std::string_view feed(std::string_view piece);
  bool has_more() const { return has_more_; }
  std::string_view more();
  // What an encoder still has, before a wait. Empty where there is nothing.
  std::string_view flush();
  // The end. Its view and the one before it are valid together.
  std::string_view finish();

  bool holds_a_word() const;
  // Lets the word go; what comes behind it begins anew.
  std::string_view release();

  // Why it could not be searched to its end; empty: it could.
  const std::string& failure() const { return failure_; }
  const std::vector<Masker::Count>& counts() const { return counts_; }

 private:
  std::string_view pump();
  bool next_plain(std::string_view& plain);
  void pass_plain(std::string_view plain);
  void leave(std::string_view masked);
  void end_masker();
  void end_with(std::string_view last);

  FollowedMask masks_;
  const Masker::Holding holding_;
  std::optional<Masker> masker_;  // neither this nor grpc_: nothing is searched
  std::optional<GrpcMask> grpc_;
  std::optional<Decoder> decoder_;
  std::optional<Encoder> encoder_;
  std::string_view in_;  // without a decoder: not taken yet
  bool grpc_has_more_ = false;
  bool has_more_ = false;
  bool came_ = false;   // any byte at all
  bool waits_ = false;  // the encoder was given something since it was flushed
  std::string out_;     // what leaves, where it is not a view of what came
  std::string scratch_;
  std::string rest_;
  std::string failure_;
  std::vector<Masker::Count> counts_;
};

}  // namespace warder
