#include "audit/proof.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "audit/anchor.hpp"
#include "audit/walk.hpp"

namespace warder::audit {
namespace {

constexpr std::string_view kFirstLine = "warder-audit-proof 1\n";
constexpr std::string_view kProofLine = "c2sp.org/tlog-proof@v1\n";
constexpr std::string_view kIndex = "index ";
constexpr std::size_t kMostHashes = 64;
constexpr std::size_t kMostBytes = 4 * kMaxRecordBytes;

std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return value;
}

// What the first reading found out, which the second one needs to know before it begins.
struct Found {
  SignedNote checkpoint;
  std::string note;
  std::uint64_t lines = 0;
};

Found find_checkpoint(int fd, const std::filesystem::path& file, const VerifierKey& key) {
  Walker walker(key, Signatures::every);
  LineReader reader(fd);
  Found found;
  while (const RawLine* raw = reader.next()) {
    if (!raw->ended) break;  // a gateway may be at it; no checkpoint covers it
    if (const auto fault = walker.feed(*raw)) {
      throw CannotProve(file.string() + ": record " + std::to_string(fault->seq) + ": " +
                        fault->detail + "; warder audit verify says more");
    }
    if (walker.line().type == "checkpoint") found.note = walker.line().text("note");
  }
  if (reader.error()) throw CannotProve(file.string() + ": " + reader.error().message());
  if (!walker.newest()) throw CannotProve(file.string() + ": it has no checkpoint yet");
  found.checkpoint = *walker.newest();
  found.lines = walker.chain().size();
  return found;
}

void require_covered(std::uint64_t seq, const Found& found) {
  if (seq < found.checkpoint.checkpoint.size) return;
  const std::string number = std::to_string(seq);
  if (seq >= found.lines) {
    throw CannotProve("there is no record " + number + ": the last one is " +
                      std::to_string(found.lines - 1));
  }
  throw CannotProve("no checkpoint covers record " + number +
                    " yet: a gateway writes one within a second; the last line of a closed log is "
                    "a checkpoint itself, which proves itself by its signature");
}

}  // namespace

std::vector<LeafRange> path_ranges(std::uint64_t index, std::uint64_t size) {
  std::vector<LeafRange> ranges;
  LeafRange here{0, size};
  while (here.end - here.begin > 1) {
    const std::uint64_t middle = here.begin + std::bit_floor(here.end - here.begin - 1);
    if (index < middle) {
      ranges.push_back({middle, here.end});
      here.end = middle;
    } else {
      ranges.push_back({here.begin, middle});
      here.begin = middle;
    }
  }
  std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

std::optional<Digest> root_of_path(const Digest& leaf, std::uint64_t index, std::uint64_t size,
                                   const std::vector<Digest>& path) {
  if (index >= size) return std::nullopt;
  const std::vector<LeafRange> ranges = path_ranges(index, size);
  if (ranges.size() != path.size()) return std::nullopt;
  Digest hash = leaf;
  for (std::size_t i = 0; i < path.size(); ++i)
    hash = ranges[i].begin > index ? node_hash(hash, path[i]) : node_hash(path[i], hash);
  return hash;
}

std::string Proof::text() const {
  std::string out(kFirstLine);
  out += record + "\n\n";
  out += kProofLine;
  out += std::string(kIndex) + std::to_string(index) + "\n";
  for (const Digest& hash : path) out += to_base64(hash) + "\n";
  return out + "\n" + note;
}

std::optional<Proof> Proof::parse(std::string_view text) {
  Proof proof;
  if (!take(text, kFirstLine)) return std::nullopt;
  const auto record = take_line(text);
  if (!record || !take(text, "\n") || !take(text, kProofLine) || !take(text, kIndex))
    return std::nullopt;
  proof.record = *record;
  const auto number = take_line(text);
  const auto index = number ? number_in(*number) : std::nullopt;
  if (!index) return std::nullopt;
  proof.index = *index;
  for (;;) {
    const auto line = take_line(text);
    if (!line) return std::nullopt;
    if (line->empty()) break;
    const auto hash = digest_from_base64(*line);
    if (!hash || proof.path.size() == kMostHashes) return std::nullopt;
    proof.path.push_back(*hash);
  }
  proof.note = text;
  return proof;
}

Proof prove(const std::filesystem::path& file, std::uint64_t seq, const VerifierKey& key) {
  std::string why;
  const Fd fd = open_for_reading(file, why);
  if (!fd) throw CannotProve(why);
  const Found found = find_checkpoint(fd.get(), file, key);
  require_covered(seq, found);

  Proof proof;
  proof.index = seq;
  proof.note = found.note;
  const std::uint64_t size = found.checkpoint.checkpoint.size;
  const std::vector<LeafRange> ranges = path_ranges(seq, size);
  std::vector<Tree> subtrees(ranges.size());
  if (::lseek(fd.get(), 0, SEEK_SET) < 0) throw CannotProve(file.string() + ": cannot be re-read");
  LineReader reader(fd.get());
  for (std::uint64_t at = 0; at < size; ++at) {
    const RawLine* raw = reader.next();
    if (raw == nullptr) break;
    if (at == seq) proof.record = raw->bytes;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (at >= ranges[i].begin && at < ranges[i].end) subtrees[i].append(leaf_hash(raw->bytes));
    }
  }
  for (const Tree& subtree : subtrees) proof.path.push_back(subtree.root());
  // Also where somebody changed the file between the two readings.
  const ProofVerdict verdict = check_proof(proof.text(), key);
  if (verdict.outcome != ProofVerdict::Outcome::proved)
    throw CannotProve(file.string() + ": it changed while it was read: " + verdict.detail);
  return proof;
}

ProofVerdict check_proof(std::string_view text, const VerifierKey& key) {
  using Outcome = ProofVerdict::Outcome;
  ProofVerdict verdict;
  auto proof = Proof::parse(text);
  const auto note = proof ? SignedNote::parse(proof->note) : std::nullopt;
  const auto line = proof ? ParsedLine::parse(proof->record) : std::nullopt;
  if (!proof || !note || !line) {
    verdict.detail = !proof  ? "it is no proof of this format"
                     : !note ? "its checkpoint is no signed note"
                             : "its record is none of this format";
    return verdict;
  }
  verdict.checkpoint = note->checkpoint;
  verdict.proof = *std::move(proof);
  verdict.outcome = Outcome::wrong;
  const Proof& given = verdict.proof;
  const auto root =
      root_of_path(leaf_hash(given.record), given.index, note->checkpoint.size, given.path);
  if (!note->signed_by(key)) {
    verdict.detail = "the checkpoint has no good signature by " + key.text();
  } else if (line->seq != given.index) {
    verdict.detail = "the record's number is " + std::to_string(line->seq) + ", the proof is for " +
                     std::to_string(given.index);
  } else if (!root) {
    verdict.detail =
        "its hashes are no path in a log of " + std::to_string(note->checkpoint.size) + " records";
  } else if (*root != note->checkpoint.root) {
    verdict.detail = "the record is not the one that the checkpoint was signed over";
  } else {
    verdict.outcome = Outcome::proved;
  }
  return verdict;
}

ProofVerdict check_proof_file(const std::filesystem::path& file, const VerifierKey& key) {
  ProofVerdict verdict;
  const Fd fd = open_for_reading(file, verdict.detail);
  if (!fd) return verdict;
  std::string text(kMostBytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(fd.get(), text.data() + size, text.size() - size);
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  return check_proof(text, key);
}

}  // namespace warder::audit
