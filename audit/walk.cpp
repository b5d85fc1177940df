#include "audit/walk.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace warder::audit {
namespace {

// Another type is another format, with another "v".
bool is_known(std::string_view type) {
  constexpr std::array<std::string_view, 18> kTypes{
      "log",         "resume",  "repair", "close",  "checkpoint", "session_start",
      "session_end", "dns",     "dial",   "secret", "policy",     "approval",
      "intent",      "receipt", "exec",   "exit",   "files",      "limit"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

}  // namespace

bool LineReader::fill() {
  ssize_t n = 0;
  do {
    n = ::read(fd_, buffer_.data(), buffer_.size());
  } while (n < 0 && errno == EINTR);
  if (n < 0) error_ = {errno, boost::system::system_category()};
  begin_ = 0;
  end_ = n > 0 ? static_cast<std::size_t>(n) : 0;
  return n > 0;
}

void LineReader::take(std::string_view piece) {
  const std::size_t room = kMaxRecordBytes - line_.bytes.size();
  if (piece.size() > room) line_.too_long = true;
  line_.bytes += piece.substr(0, room);
  offset_ += piece.size();
}

const RawLine* LineReader::next() {
  line_.bytes.clear();
  line_.offset = offset_;
  line_.ended = false;
  line_.too_long = false;
  bool any = false;
  while (begin_ < end_ || fill()) {
    any = true;
    const std::string_view ready(buffer_.data() + begin_, end_ - begin_);
    const std::size_t newline = ready.find('\n');
    take(ready.substr(0, newline));
    if (newline != std::string_view::npos) {
      begin_ += newline + 1;
      ++offset_;
      line_.ended = true;
      return &line_;
    }
    begin_ = end_;
  }
  return any && !error_ ? &line_ : nullptr;
}

Fault Walker::fault(Fault::What what, const RawLine& raw, std::string detail) const {
  return {what, chain_.size(), raw.offset, std::move(detail)};
}

std::optional<Fault> Walker::feed(const RawLine& raw) {
  if (auto bad = check(raw)) return bad;
  const bool checkpoint = line_.type == "checkpoint";
  closed_ = checkpoint && type_before_ == "close";
  type_before_ = line_.type;
  last_offset_ = raw.offset;
  before_ = chain_;
  chain_.follow(raw.bytes, line_.stamp);
  return std::nullopt;
}

std::optional<Fault> Walker::check(const RawLine& raw) {
  using What = Fault::What;
  line_offset_ = raw.offset;
  if (raw.too_long) {
    return fault(What::record, raw, "the line is longer than any record");
  }
  auto parsed = ParsedLine::parse(raw.bytes);
  if (!parsed || !is_known(parsed->type))
    return fault(What::record, raw, "the line is not a record of this format");
  line_ = *std::move(parsed);
  if (line_.seq != chain_.size()) {
    return fault(What::sequence, raw,
                 "record " + std::to_string(line_.seq) + " stands where record " +
                     std::to_string(chain_.size()) + " belongs");
  }
  if (line_.prev != chain_.last()) {
    return fault(What::link, raw, "the record does not follow the one before it");
  }
  if (chain_.size() == 0) return check_header(raw);
  if (line_.type == "log") return fault(What::record, raw, "a second header");
  if (line_.type == "checkpoint") return check_checkpoint(raw);
  return std::nullopt;
}

std::optional<Fault> Walker::check_header(const RawLine& raw) {
  origin_ = line_.text("origin");
  previous_ = line_.text("previous");
  if (line_.type != "log" || origin_.empty()) {
    return fault(Fault::What::record, raw, "the first record is not the header of a log");
  }
  return std::nullopt;
}

std::optional<Fault> Walker::check_checkpoint(const RawLine& raw) {
  using What = Fault::What;
  auto note = SignedNote::parse(line_.text("note"));
  if (!note) return fault(What::signature, raw, "the checkpoint is not a signed note");
  if (signatures_ == Signatures::every && !note->signed_by(key_)) {
    return fault(What::signature, raw, "the checkpoint has no good signature by " + key_.text());
  }
  if (note->checkpoint.origin != origin_) {
    return fault(What::origin, raw, "the checkpoint belongs to the log " + note->checkpoint.origin);
  }
  if (note->checkpoint.size != chain_.size()) {
    return fault(What::size, raw,
                 "the checkpoint was signed over " + std::to_string(note->checkpoint.size) +
                     " records and stands after " + std::to_string(chain_.size()));
  }
  if (note->checkpoint.root != chain_.tree().root()) {
    return fault(What::root, raw,
                 "the records before the checkpoint are not those it was signed over");
  }
  // Nothing follows that would cover this line, so it must be what its note and place make of it.
  if (chain_.line(checkpoint_body(line_.text("note")), chain_.stamp()) != raw.bytes) {
    return fault(What::checkpoint, raw, "the line around the signed note was changed");
  }
  newest_ = std::move(note);
  ++checkpoints_;
  return std::nullopt;
}

}  // namespace warder::audit
