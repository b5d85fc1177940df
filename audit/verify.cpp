#include "audit/verify.hpp"

#include <algorithm>

#include "audit/anchor.hpp"
#include "audit/diagnose.hpp"
#include "audit/file.hpp"
#include "audit/key_file.hpp"
#include "audit/pairing.hpp"
#include "audit/walk.hpp"

namespace warder::audit {
namespace {

// What somebody else says the log was at some size.
struct Claim {
  std::uint64_t size = 0;
  Digest root{};
  std::string from;
};

class Verifier {
 public:
  Verifier(const VerifyOptions& options, VerifierKey key)
      : options_(options), key_(std::move(key)), walker_(key_, Signatures::every) {}

  Verification run();

 private:
  bool read_anchors();
  void walk(int fd);
  bool step(const RawLine& raw, LineReader& reader);
  void note_progress();
  void check_claims();
  void judge_tail();
  Verification& break_at(const Diagnosis& diagnosis);
  Verification& unreadable(std::string why);

  const VerifyOptions& options_;
  VerifierKey key_;
  Walker walker_;
  Pairing pairing_;
  std::vector<SignedNote> anchors_;
  std::vector<Claim> claims_;  // by size; those behind the walker are done
  std::size_t next_claim_ = 0;
  std::uint64_t anchored_size_ = 0;
  std::uint64_t end_ = 0;  // offset behind the last line
  bool found_fault_ = false;
  std::optional<Diagnosis> unpaired_;
  Verification result_;
};

Verification& Verifier::unreadable(std::string why) {
  result_.outcome = Verification::Outcome::unreadable;
  result_.detail = std::move(why);
  return result_;
}

Verification& Verifier::break_at(const Diagnosis& diagnosis) {
  found_fault_ = true;
  result_.outcome = Verification::Outcome::broken;
  result_.kind = diagnosis.kind;
  result_.bad_sequence = diagnosis.seq;
  result_.bad_offset = diagnosis.offset;
  result_.detail = diagnosis.detail;
  return result_;
}

bool Verifier::read_anchors() {
  for (const auto& file : options_.anchors) {
    std::string why;
    auto note = read_anchor(file, why);
    if (!note) return unreadable("anchor " + why), false;
    // An unsigned anchor would prove nothing, and could only be there by mistake or by attack.
    if (!note->signed_by(key_)) {
      return unreadable("anchor " + file.string() + ": has no good signature by the trusted key"),
             false;
    }
    claims_.push_back(
        {note->checkpoint.size, note->checkpoint.root, "the anchor " + file.string()});
    anchored_size_ = std::max(anchored_size_, note->checkpoint.size);
    anchors_.push_back(*std::move(note));
  }
  for (const PreviousRun& witness : options_.witnesses) {
    claims_.push_back({witness.size, witness.root, "a later run's header"});
  }
  std::sort(claims_.begin(), claims_.end(),
            [](const Claim& a, const Claim& b) { return a.size < b.size; });
  return true;
}

void Verifier::check_claims() {
  const std::uint64_t size = walker_.chain().size();
  for (; next_claim_ < claims_.size() && claims_[next_claim_].size <= size; ++next_claim_) {
    const Claim& claim = claims_[next_claim_];
    if (claim.size == size && claim.root == walker_.chain().tree().root()) continue;
    break_at({"forked", claim.size == 0 ? 0 : claim.size - 1, walker_.last_offset(),
              "the first " + std::to_string(claim.size) + " records are not those that " +
                  claim.from + " was made over"});
    return;
  }
}

void Verifier::note_progress() {
  result_.records = walker_.chain().size();
  result_.checkpoints = walker_.checkpoints();
  result_.open_intents = pairing_.open();
  result_.crashes = pairing_.crashes();
  result_.closed = walker_.closed();
  result_.origin = walker_.origin();
  result_.previous = walker_.previous();
  if (!walker_.newest()) return;
  result_.covered = walker_.newest()->checkpoint.size;
  result_.root = to_base64(walker_.newest()->checkpoint.root);
}

// false: stop.
bool Verifier::step(const RawLine& raw, LineReader& reader) {
  if (!raw.ended) {
    // A gateway at work may be in the middle of a line.
    if (!result_.running) {
      break_at({"truncated", walker_.chain().size(), raw.offset, "the last line is cut off"});
    }
    return false;
  }
  if (const auto fault = walker_.feed(raw)) {
    break_at(diagnose(walker_, *fault, reader, key_));
    return false;
  }
  end_ = raw.offset + raw.bytes.size() + 1;
  const std::uint64_t seq = walker_.chain().size() - 1;
  // Told only if nothing worse follows: after tampering the pairs do not fit either.
  const auto unpaired = pairing_.feed(walker_.line());
  if (unpaired && !unpaired_) unpaired_ = {"badrecord", seq, raw.offset, *unpaired};
  if (seq == 0) {
    for (const SignedNote& anchor : anchors_) {
      if (anchor.checkpoint.origin == walker_.origin()) continue;
      break_at({"forked", 0, 0,
                "the anchor is for the log " + anchor.checkpoint.origin + ", the file is " +
                    walker_.origin()});
      return false;
    }
  }
  check_claims();
  return !found_fault_;
}

void Verifier::walk(int fd) {
  LineReader reader(fd);
  check_claims();
  while (!found_fault_) {
    const RawLine* raw = reader.next();
    if (raw == nullptr || !step(*raw, reader)) break;
  }
  note_progress();
  if (!found_fault_ && reader.error()) unreadable("reading stopped: " + reader.error().message());
}

void Verifier::judge_tail() {
  const std::uint64_t records = result_.records;
  const Diagnosis cut{"truncated", records, end_, ""};
  Diagnosis why = cut;
  if (next_claim_ < claims_.size()) {
    const Claim& claim = claims_[next_claim_];
    why.detail = claim.from + " was made over " + std::to_string(claim.size) + " records, " +
                 std::to_string(records) + " are left";
  } else if (records == 0) {
    why.detail = "the file is empty";
  } else if (unpaired_) {
    why = *unpaired_;
  } else if (!result_.closed && !result_.running) {
    why.detail =
        "truncated tail: no closing checkpoint (the gateway was killed, or records were cut off)";
  } else {
    result_.outcome = Verification::Outcome::intact;
    // The closing checkpoint itself is the one line that need not be covered.
    result_.anchored =
        anchored_size_ >= records || (result_.closed && anchored_size_ + 1 == records);
    return;
  }
  break_at(why);
}

Verification Verifier::run() {
  result_.key = key_.text() + (options_.vkey_from.empty() ? "" : " (" + options_.vkey_from + ")");
  if (!read_anchors()) return result_;
  std::string why;
  const Fd fd = open_for_reading(options_.file, why);
  if (!fd) return unreadable(why);
  result_.running = lock_holder(fd.get()).has_value();
  result_.outcome = Verification::Outcome::intact;
  walk(fd.get());
  if (!found_fault_ && result_.outcome == Verification::Outcome::intact) judge_tail();
  return result_;
}

}  // namespace

Verification verify(const VerifyOptions& options) {
  const auto key = VerifierKey::parse(options.vkey);
  if (!key) {
    Verification none;
    none.detail = options.vkey.empty() ? "no key is trusted: name one"
                                       : "the key is not a verifier key (name+hash+base64)";
    return none;
  }
  return Verifier(options, *key).run();
}

std::string verifier_key(const std::filesystem::path& key_file) {
  return read_key(key_file).verifier().text();
}

}  // namespace warder::audit
