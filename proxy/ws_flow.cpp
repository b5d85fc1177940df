#include "proxy/ws_flow.hpp"

#include <algorithm>
#include <utility>

namespace warder {
namespace {

constexpr std::size_t kCodeBytes = 2;  // of a Close, before its reason

}  // namespace

void WsTripwire::begin_message(WsOpcode kind) {
  if (plan_.empty()) {
    wire_.emplace(secrets_);
    return;
  }
  using Format = BodyPlan::Format;
  plan_.format = kind == WsOpcode::text ? Format::ws_text : Format::ws_binary;
  swap_.emplace(secrets_, plan_);
}

std::string_view WsTripwire::feed(std::string_view plain, std::string& scratch) {
  if (wire_) return wire_->feed(plain, scratch);
  out_.clear();
  (void)swap_->feed(plain, out_);
  return swapped();
}

std::string_view WsTripwire::finish(std::string& scratch) {
  if (wire_) return wire_->finish(scratch);
  out_.clear();
  (void)swap_->finish(out_);
  return swapped();
}

std::string_view WsTripwire::swapped() {
  for (BodySwap::Count& each : swap_->take_counts()) counts_.push_back(std::move(each));
  return as_view(out_);
}

std::size_t WsTripwire::held() const {
  if (wire_) return wire_->held();
  return swap_ ? swap_->held() : 0;
}

bool WsTripwire::keeps_size(const WsHeader& frame) const {
  if (wire_) return frame.fin || !wire_->can_hold();
  return frame.fin && plan_.keeps_length;
}

void WsTripwire::filter_control(std::string& text) {
  std::string scratch;
  control_wire_.emplace(secrets_);
  (void)control_wire_->feed(text, scratch);
  (void)control_wire_->finish(scratch);
}

std::optional<SwapRefusal> WsTripwire::refusal() const {
  if (swap_ && swap_->refusal()) return swap_->refusal();
  for (const auto* wire : {&wire_, &control_wire_}) {
    if (*wire && (*wire)->hit()) return SwapRefusal{(*wire)->reason(), (*wire)->secret(), "ws", ""};
  }
  return std::nullopt;
}

void WsMask::begin_message(WsOpcode) {
  if (!set_.empty()) masker_.emplace(set_, holding_);
}

std::string_view WsMask::feed(std::string_view plain, std::string& scratch) {
  return masker_ ? masker_->feed(plain, scratch) : plain;
}

std::string_view WsMask::finish(std::string& scratch) {
  if (!masker_) return {};
  const std::string_view last = masker_->finish(scratch);
  count(*masker_);
  masker_.emplace(set_, holding_);
  return last;
}

bool WsMask::keeps_size(const WsHeader& frame) const {
  return set_.empty() || (frame.fin && !set_.changes_length());
}

void WsMask::filter_control(std::string& text) {
  if (set_.empty()) return;
  Masker masker(set_, Masker::Holding::beginnings);
  std::string scratch;
  std::string masked(masker.feed(text, scratch));
  masked += masker.finish(scratch);
  count(masker);
  text = std::move(masked);
}

void WsMask::count(const Masker& masker) {
  for (const Masker::Count& found : masker.counts()) {
    const auto known = std::find_if(counts_.begin(), counts_.end(), [&](const auto& entry) {
      return entry.secret == found.secret && entry.encoding == found.encoding;
    });
    if (known != counts_.end())
      known->count += found.count;
    else
      counts_.push_back(found);
  }
}

WsFlow::Outcome WsFlow::pass(std::string_view& in, std::string& out) {
  for (;;) {
    const std::uint64_t wanted = gathers_ ? std::min<std::uint64_t>(parser_.left(), kPiece) : 0;
    if (in.size() < wanted) return Outcome::more;
    Outcome outcome = Outcome::more;
    switch (parser_.next(in)) {
      case WsParser::Event::need_more: return Outcome::more;
      case WsParser::Event::error: return Outcome::malformed;
      case WsParser::Event::header: begin_frame(out); break;
      case WsParser::Event::payload: outcome = pass_payload(out); break;
      case WsParser::Event::end: outcome = end_frame(out); break;
    }
    if (outcome != Outcome::more) return outcome;
  }
}

void WsFlow::begin_frame(std::string& out) {
  WsHeader frame = parser_.header();
  if (is_control(frame.opcode)) return;
  if (frame.opcode != WsOpcode::continuation) {
    opcode_ = frame.opcode;
    filter_.begin_message(frame.opcode);
  }
  const bool fits = frame.length <= kMaxWsLength - filter_.held();
  gathers_ = !fits || !filter_.keeps_size(frame);
  if (gathers_) return;
  frame.length += filter_.held();
  frame.opcode = std::exchange(opcode_, WsOpcode::continuation);
  write_ws_header(out, frame);
  committed_ = frame.length;
  offset_ = 0;
}

std::string WsFlow::unmasked_payload() const {
  std::string plain(parser_.payload());
  const WsHeader& frame = parser_.header();
  const std::uint64_t offset = frame.length - parser_.left() - plain.size();
  if (frame.key) apply_ws_key(plain.data(), plain.size(), *frame.key, offset);
  return plain;
}

WsFlow::Outcome WsFlow::pass_payload(std::string& out) {
  const std::string plain = unmasked_payload();
  if (is_control(parser_.header().opcode)) {
    control_ += plain;
    return Outcome::more;
  }
  std::string scratch;
  const std::string_view text = filter_.feed(plain, scratch);
  if (filter_.has_hit()) return Outcome::hit;
  if (!gathers_) return append(text, out) ? Outcome::more : Outcome::unfit;
  gathered_.insert(gathered_.end(), text.begin(), text.end());
  if (parser_.left() > 0 && !gathered_.empty()) emit(false, out);
  return Outcome::more;
}

WsFlow::Outcome WsFlow::end_frame(std::string& out) {
  const WsHeader& frame = parser_.header();
  if (is_control(frame.opcode)) return end_control(out);
  std::string scratch;
  const std::string_view rest = frame.fin ? filter_.finish(scratch) : std::string_view();
  if (filter_.has_hit()) return Outcome::hit;
  if (!std::exchange(gathers_, false)) {
    return append(rest, out) && committed_ == 0 ? Outcome::more : Outcome::unfit;
  }
  gathered_.insert(gathered_.end(), rest.begin(), rest.end());
  emit(frame.fin, out);
  return Outcome::more;
}

WsFlow::Outcome WsFlow::end_control(std::string& out) {
  WsHeader frame = parser_.header();
  std::string payload = std::exchange(control_, {});
  const bool is_close = frame.opcode == WsOpcode::close;
  const std::size_t code = is_close ? std::min(payload.size(), kCodeBytes) : 0;
  std::string text = payload.substr(code);
  filter_.filter_control(text);
  if (filter_.has_hit()) return Outcome::hit;
  payload.replace(code, std::string::npos, text);
  if (payload.size() > kMaxWsControl) return Outcome::unfit;
  frame.length = payload.size();
  payload_bytes_ += payload.size();
  write_ws_header(out, frame);
  if (frame.key) apply_ws_key(payload.data(), payload.size(), *frame.key, 0);
  out += payload;
  return is_close ? Outcome::closed : Outcome::more;
}

// False: more than the header promises. A filter that says keeps_size() and does not must not put frames out of step.
bool WsFlow::append(std::string_view text, std::string& out) {
  if (text.size() > committed_) return false;
  const std::size_t at = out.size();
  out += text;
  const auto& key = parser_.header().key;
  if (key) apply_ws_key(out.data() + at, text.size(), *key, offset_);
  offset_ += text.size();
  committed_ -= text.size();
  payload_bytes_ += text.size();
  return true;
}

void WsFlow::emit(bool fin, std::string& out) {
  WipedBytes payload = std::exchange(gathered_, {});
  WsHeader frame = parser_.header();
  frame.fin = fin;
  frame.opcode = std::exchange(opcode_, WsOpcode::continuation);
  frame.length = payload.size();
  payload_bytes_ += payload.size();
  write_ws_header(out, frame);
  if (frame.key) apply_ws_key(payload.data(), payload.size(), *frame.key, 0);
  out += as_view(payload);
}

void WsFlow::release(std::string& out) {
  std::string scratch;
  const std::string_view rest = filter_.finish(scratch);
  gathered_.insert(gathered_.end(), rest.begin(), rest.end());
  emit(false, out);
}

std::string ws_close(std::uint16_t code, std::string_view reason, std::optional<WsKey> key) {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  payload += reason.substr(0, kMaxWsControl - kCodeBytes);
  const WsHeader header{true, WsOpcode::close, key, payload.size()};
  std::string out;
  write_ws_header(out, header);
  if (key) apply_ws_key(payload.data(), payload.size(), *key, 0);
  return out + payload;
}

}  // namespace warder
