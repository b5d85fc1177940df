#include "proxy/body_mask.hpp"

#include <utility>

namespace warder {
namespace {

constexpr std::size_t kLeaving = std::size_t{16} * 1024;  // enough to be sent
constexpr std::size_t kBudget = std::size_t{256} * 1024;  // of text, before others have their turn

}  // namespace

MaskPlan plan_mask(const ResponseHead& head, const Framing& framing, const FollowedMask& masks,
                   MayKnow origin) {
  MaskPlan plan;
  const bool is_part = head.status == 206;
  if (origin == MayKnow::yes && is_part)
    plan.refused = "the origin sent a part (206) that nobody asked for";
  const bool is_empty = framing.kind == Framing::Kind::length && framing.length == 0;
  if (!masks.is_needed() || is_part || is_empty) return plan;
  // The answer to a HEAD and a 304 say of a body that is not here what would have become of it.
  const bool is_here = framing.kind != Framing::Kind::none;
  ContentCodings codings = content_codings(head.fields);
  if (!codings.known) {
    if (is_here && origin == MayKnow::yes)
      plan.refused = "the origin sent a content coding that cannot be undone";
    return plan;  // from any other origin it is searched as it is
  }
  plan.undone = std::move(codings.applied);
  plan.grpc = is_grpc(head.fields);
  plan.compression = GrpcMask::compression_of(head.fields);
  if (origin == MayKnow::no) plan.unreadable = GrpcMask::Unreadable::passes;
  return plan;
}

bool MaskPlan::recodes() const {
  const bool unfolds =
      compression == GrpcMask::Compression::gzip || compression == GrpcMask::Compression::deflate;
  return !undone.empty() || (grpc && unfolds);
}

BodyMask::BodyMask(const FollowedMask& masks, Masker::Holding holding, const MaskPlan& plan)
    : masks_(masks), holding_(holding) {
  if (!masks.is_needed()) return;
  if (!plan.undone.empty()) {
    decoder_.emplace(plan.undone);
    encoder_.emplace(plan.undone);
  }
  if (plan.grpc)
    grpc_.emplace(masks, holding, plan.compression, plan.unreadable);
  else
    masker_.emplace(masks_.set(), holding);
}

std::string_view BodyMask::feed(std::string_view piece) {
  if (!failure_.empty()) return {};
  came_ = came_ || !piece.empty();
  masks_.follow(masker_);
  if (!decoder_ && !grpc_) return masker_ ? masker_->feed(piece, scratch_) : piece;
  if (decoder_)
    decoder_->feed(piece);
  else
    in_ = piece;
  has_more_ = true;
  return pump();
}

std::string_view BodyMask::more() { return pump(); }

// The next text to search. False: none is there.
bool BodyMask::next_plain(std::string_view& plain) {
  if (!decoder_) {
    plain = std::exchange(in_, std::string_view());
    return !plain.empty();
  }
  switch (decoder_->next()) {
    case Decoder::Event::piece: plain = decoder_->piece(); return true;
    case Decoder::Event::malformed: failure_ = "the coded body is malformed"; return false;
    case Decoder::Event::truncated: failure_ = "the coded body breaks off"; return false;
    case Decoder::Event::need_more:
    case Decoder::Event::end: return false;
  }
  return false;
}

std::string_view BodyMask::pump() {
  out_.clear();
  for (std::size_t done = 0; done < kBudget && out_.size() < kLeaving;) {
    if (grpc_has_more_) {
      pass_plain({});
      done += kLeaving;
    } else {
      std::string_view plain;
      if (!next_plain(plain)) {
        has_more_ = false;
        break;
      }
      done += plain.size();
      pass_plain(plain);
    }
    if (!failure_.empty()) break;
  }
  if (failure_.empty()) return out_;
  has_more_ = false;
  return {};
}

// gRPC: an empty one goes on with what was there.
void BodyMask::pass_plain(std::string_view plain) {
  if (!grpc_) return leave(masker_->feed(plain, scratch_));
  if (!grpc_has_more_) grpc_->feed(plain);
  scratch_.clear();
  grpc_has_more_ = grpc_->pump(scratch_, kLeaving);
  failure_ = grpc_->failure();
  leave(scratch_);
}

void BodyMask::leave(std::string_view masked) {
  if (masked.empty()) return;
  if (!encoder_) {
    out_ += masked;
    return;
  }
  encoder_->write(masked, out_);
  waits_ = true;
}

std::string_view BodyMask::flush() {
  if (!encoder_ || !waits_ || !failure_.empty()) return {};
  out_.clear();
  encoder_->flush(out_);
  waits_ = false;
  return out_;
}

// What was held back can no longer become a match.
void BodyMask::end_masker() {
  std::string tail;
  const std::string_view last = masker_->finish(tail);
  add_counts(counts_, masker_->counts());
  end_with(last);
}

void BodyMask::end_with(std::string_view last) {
  if (!encoder_)
    rest_ += last;
  else if (!last.empty())
    encoder_->write(last, rest_);
}

std::string_view BodyMask::finish() {
  rest_.clear();
  if (!failure_.empty()) return {};
  if (decoder_) {
    decoder_->finish();
    std::string_view none;
    (void)next_plain(none);  // all of it has been pumped: the end, or that it is missing
    if (!failure_.empty()) return {};
  }
  if (masker_) end_masker();
  if (grpc_) {
    std::string tail;
    const bool whole = grpc_->finish(tail);
    add_counts(counts_, grpc_->counts());
    failure_ = grpc_->failure();
    if (!whole) return {};
    end_with(tail);
  }
  if (encoder_ && came_) encoder_->finish(rest_);
  return rest_;
}

bool BodyMask::holds_a_word() const {
  return masker_ && holding_ == Masker::Holding::words && masker_->held() > 0;
}

std::string_view BodyMask::release() {
  rest_.clear();
  end_masker();
  masker_.emplace(masks_.set(), holding_);
  if (encoder_) encoder_->flush(rest_);
  waits_ = false;
  return rest_;
}

}  // namespace warder
