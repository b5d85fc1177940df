#include "proxy/grpc_mask.hpp"

#include <algorithm>

#include "http/chars.hpp"

namespace warder {
namespace {

std::vector<Coding> codings(GrpcMask::Compression compression) {
  return {compression == GrpcMask::Compression::gzip ? Coding::gzip : Coding::deflate};
}

}  // namespace

void add_counts(std::vector<Masker::Count>& all, const std::vector<Masker::Count>& more) {
  for (const Masker::Count& found : more) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const Masker::Count& entry) {
      return entry.secret == found.secret && entry.encoding == found.encoding;
    });
    if (known != all.end())
      known->count += found.count;
    else
      all.push_back(found);
  }
}

GrpcMask::Compression GrpcMask::compression_of(const HeaderList& fields) {
  const std::size_t count = fields.count("grpc-encoding");
  if (count == 0) return Compression::none;
  const std::string_view name = trim(fields.find("grpc-encoding")->value);
  if (count > 1) return Compression::unknown;
  if (same_name(name, "identity")) return Compression::none;
  if (same_name(name, "gzip")) return Compression::gzip;
  if (same_name(name, "deflate")) return Compression::deflate;
  return Compression::unknown;
}

GrpcMask::GrpcMask(const FollowedMask& masks, Masker::Holding holding, Compression compression,
                   Unreadable unreadable)
    : masks_(masks), holding_(holding), compression_(compression), unreadable_(unreadable) {}

GrpcMask::~GrpcMask() = default;

bool GrpcMask::fail(std::string why) {
  failure_ = std::move(why);
  return false;
}

bool GrpcMask::pump(std::string& out, std::size_t budget) {
  while (failure_.empty() && budget > 0) {
    if (work_ == Work::searching) {
      if (!search(budget, out)) return false;
      continue;
    }
    if (work_ == Work::recoding) {
      if (!recode(budget, out)) return false;
      continue;
    }
    bool fine = true;
    switch (parser_.next(in_)) {
      case GrpcParser::Event::need_more: return false;
      case GrpcParser::Event::malformed: fine = fail("a gRPC message is malformed"); break;
      case GrpcParser::Event::prefix: fine = begin_message(out); break;
      case GrpcParser::Event::payload:
        budget -= std::min(budget, parser_.payload().size());
        fine = take_payload(out);
        break;
      case GrpcParser::Event::end: fine = end_message(out); break;
    }
    if (!fine) return false;
  }
  return failure_.empty();
}

bool GrpcMask::begin_message(std::string& out) {
  masks_.follow();
  const GrpcPrefix prefix = parser_.prefix();
  const bool can_undo = compression_ == Compression::gzip || compression_ == Compression::deflate;
  if (prefix.is_compressed() && !can_undo && unreadable_ == Unreadable::refused)
    return fail("a gRPC message is compressed in a way that cannot be undone");
  const bool unfolds = prefix.is_compressed() && can_undo;
  way_ = unfolds ? Way::unfolded : masks_.set().changes_length() ? Way::gathered : Way::streamed;
  if (way_ == Way::streamed) {
    masker_.emplace(masks_.set(), holding_);
    write_grpc_prefix(out, prefix);
  } else if (prefix.length > kMaxHeld) {
    return fail("a gRPC message that must be known whole is longer than 4 MiB");
  }
  return true;
}

bool GrpcMask::take_payload(std::string& out) {
  const std::string_view payload = parser_.payload();
  if (way_ == Way::streamed) {
    masks_.follow(masker_);
    out += masker_->feed(payload, scratch_);
    return true;
  }
  message_.insert(message_.end(), payload.begin(), payload.end());
  return true;
}

bool GrpcMask::end_message(std::string& out) {
  if (way_ == Way::streamed) {
    out += masker_->finish(scratch_);
    add_counts(counts_, masker_->counts());
    masker_.reset();
    return true;
  }
  masks_.follow();  // none is at work
  if (way_ == Way::gathered) {
    mask_gathered(out);
  } else {
    begin(Work::searching);
  }
  return true;
}

void GrpcMask::mask_gathered(std::string& out) {
  Masker masker(masks_.set(), Masker::Holding::beginnings);
  recoded_ = masker.feed(as_view(message_), scratch_);
  recoded_ += masker.finish(scratch_);
  add_counts(counts_, masker.counts());
  leave(out, recoded_);
}

// The compressed message anew, from its beginning.
void GrpcMask::begin(Work work) {
  work_ = work;
  plain_ = 0;
  masker_.emplace(masks_.set(), Masker::Holding::beginnings);
  decoder_.emplace(codings(compression_));
  decoder_->feed(as_view(message_));
  decoder_->finish();
  if (work == Work::recoding) encoder_.emplace(codings(compression_));
}

// Is there anything in it that must not leave? Also in the bytes as they came: the head of a gzip member can hold text.
bool GrpcMask::search(std::size_t& budget, std::string& out) {
  switch (decoder_->next()) {
    case Decoder::Event::piece: break;
    case Decoder::Event::end: {
      (void)masker_->finish(scratch_);
      bool found = !masker_->counts().empty() || decoder_->dropped();
      Masker raw(masks_.set(), Masker::Holding::beginnings);
      (void)raw.feed(as_view(message_), scratch_);
      (void)raw.finish(scratch_);
      found = found || !raw.counts().empty();
      if (!found) return leave(out, as_view(message_));
      begin(Work::recoding);
      return true;
    }
    default: return fail("a compressed gRPC message is malformed");
  }
  const std::string_view piece = decoder_->piece();
  plain_ += piece.size();
  if (plain_ > kMaxPlain) return fail("a compressed gRPC message unfolds into more than 64 MiB");
  budget -= std::min(budget, piece.size());
  (void)masker_->feed(piece, scratch_);
  return true;
}

bool GrpcMask::recode(std::size_t& budget, std::string& out) {
  if (decoder_->next() == Decoder::Event::piece) {
    budget -= std::min(budget, decoder_->piece().size());
    encoder_->write(masker_->feed(decoder_->piece(), scratch_), recoded_);
    if (recoded_.size() > kMaxRecoded)
      return fail("a gRPC message grows to more than 16 MiB when it is compressed again");
    return true;
  }
  encoder_->write(masker_->finish(scratch_), recoded_);
  encoder_->finish(recoded_);
  add_counts(counts_, masker_->counts());
  return leave(out, recoded_);
}

bool GrpcMask::leave(std::string& out, std::string_view message) {
  write_grpc_prefix(out, {parser_.prefix().flags, static_cast<std::uint32_t>(message.size())});
  out += message;
  message_.clear();
  message_.shrink_to_fit();
  recoded_ = std::string();
  masker_.reset();
  decoder_.reset();
  encoder_.reset();
  work_ = Work::reading;
  return true;
}

bool GrpcMask::finish(std::string& out) {
  if (!failure_.empty()) return false;
  if (parser_.is_between()) return true;
  if (way_ != Way::streamed || !masker_) return fail("the body ends within a gRPC message");
  out += masker_->finish(scratch_);
  add_counts(counts_, masker_->counts());
  return true;
}

}  // namespace warder
