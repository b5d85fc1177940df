#include "audit/diagnose.hpp"

#include <optional>

namespace warder::audit {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

// Record `seq` was expected, and another stands there: taken out, moved, put in twice, or renamed?
Diagnosis diagnose_sequence(const Walker& walker, const Fault& fault, LineReader& reader) {
  const std::uint64_t expected = fault.seq;
  const std::uint64_t found = walker.line().seq;
  const bool linked = walker.line().prev == walker.chain().last();
  Diagnosis result{"", expected, fault.offset, fault.detail};
  std::optional<std::uint64_t> next;
  bool later = false;
  while (const RawLine* raw = reader.next()) {
    const auto line = ParsedLine::parse(raw->bytes);
    if (!line) continue;
    if (!next) next = line->seq;
    later = later || line->seq == expected;
  }
  if (linked && (!next || *next == expected + 1)) {
    result.kind = "edited";
    result.detail = "the number of record " + number(expected) + " was changed to " + number(found);
  } else if (found < expected) {
    result.kind = "forked";
    result.detail = "a second record claims number " + number(found);
  } else if (later) {
    result.kind = "reordered";
    result.detail += "; record " + number(expected) + " comes later";
  } else if (linked) {
    result.kind = "gap";
    result.detail += ", though it is linked to the record before";
  } else {
    result.kind = "deleted";
    result.detail = "records " + number(expected) + " to " + number(found - 1) + " are missing";
  }
  return result;
}

// Carries on with what each following record says of its predecessor, up to the next signed
// checkpoint: it knows which history is the true one.
struct Histories {
  Tree as_linked;  // the record before the fault was changed; its successor remembers its hash
  Tree as_found;   // that record is right; the one with the wrong `prev` was changed itself

  void remember(const Digest& digest) {
    as_linked.append(digest);
    as_found.append(digest);
  }
};

std::optional<Checkpoint> next_checkpoint(Histories& histories, const ParsedLine& first,
                                          LineReader& reader, const VerifierKey& key) {
  ParsedLine line = first;
  for (;;) {
    if (line.type == "checkpoint") {
      const auto note = SignedNote::parse(line.text("note"));
      if (note && note->signed_by(key)) return note->checkpoint;
    }
    const RawLine* raw = reader.next();
    if (raw == nullptr) return std::nullopt;
    auto following = ParsedLine::parse(raw->bytes);
    if (!following || !following->prev || following->seq != line.seq + 1) return std::nullopt;
    histories.remember(*following->prev);
    line = *std::move(following);
  }
}

Diagnosis diagnose_link(const Walker& walker, const Fault& fault, LineReader& reader,
                        const VerifierKey& key) {
  Diagnosis before{"edited", fault.seq == 0 ? 0 : fault.seq - 1, walker.last_offset(),
                   "the record was changed: the one after it remembers another"};
  Diagnosis here{"edited", fault.seq, fault.offset, "the record's link was changed"};
  if (fault.seq == 0 || !walker.line().prev) return here;
  Histories histories{walker.before().tree(), walker.chain().tree()};
  histories.as_linked.append(*walker.line().prev);
  const auto signed_over = next_checkpoint(histories, walker.line(), reader, key);
  if (!signed_over || signed_over->root == histories.as_linked.root()) return before;
  if (signed_over->root == histories.as_found.root()) return here;
  Diagnosis forked{"forked", fault.seq, fault.offset, ""};
  forked.detail = signed_over->origin == walker.origin()
                      ? "from here on the file goes on with another history of the same log"
                      : "from here on the file goes on with the log " + signed_over->origin;
  return forked;
}

// The chain was made consistent again after the change; the signature was not.
Diagnosis diagnose_root(const Walker& walker, const Fault& fault) {
  const std::uint64_t good = walker.newest() ? walker.newest()->checkpoint.size : 0;
  return {"edited", good, fault.offset,
          "records from " + number(good) + " on were changed and linked anew: the checkpoint at " +
              number(fault.seq) + " was signed over others"};
}

}  // namespace

Diagnosis diagnose(const Walker& walker, const Fault& fault, LineReader& reader,
                   const VerifierKey& key) {
  using What = Fault::What;
  Diagnosis plain{"badrecord", fault.seq, fault.offset, fault.detail};
  switch (fault.what) {
    case What::record: return plain;
    case What::sequence: return diagnose_sequence(walker, fault, reader);
    case What::link: return diagnose_link(walker, fault, reader, key);
    case What::root: return diagnose_root(walker, fault);
    case What::signature: plain.kind = "badsig"; break;
    case What::origin: plain.kind = "forked"; break;
    case What::checkpoint: plain.kind = "edited"; break;
    case What::size: {
      const auto note = SignedNote::parse(walker.line().text("note"));
      plain.kind = note && note->checkpoint.size > fault.seq ? "deleted" : "edited";
      plain.seq = walker.newest() ? walker.newest()->checkpoint.size : 0;
      break;
    }
  }
  return plain;
}

}  // namespace warder::audit
