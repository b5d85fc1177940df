// Inclusion proofs: every record of trees of every shape, and what is no proof.
#include "audit/proof.hpp"

#include <set>

#include "tests/audit/support.hpp"

using namespace warder;
using namespace warder::audit;
using namespace warder::audit::test;
using Catch::Matchers::Contains;

namespace {

using Outcome = ProofVerdict::Outcome;

struct ProofSample {
  TempDir dir{quick_directory()};
  TestClock clock;
  fs::path file = dir / "a.jsonl";
  std::vector<std::string> lines;

  ProofSample() {
    {
      auto log = Log::open(options_in(dir), clock);
      append(*log, SessionStart{"s1", "p", "ab", {"git"}, {"github"}, ""});
      for (std::uint64_t i = 1; i <= 5; ++i) exchange(*log, i);
      append(*log, SessionEnd{"s1", 0, 5, 0});
      REQUIRE(log->close());
    }
    lines = lines_of(read_file(file));
  }
  VerifierKey key() const { return *VerifierKey::parse(verifier_key(dir / "audit.key")); }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a path leads to the root from every leaf of every small tree, and from no other place") {
  std::vector<Digest> leaves;
  Tree tree;
  for (std::uint64_t size = 1; size <= 33; ++size) {
    leaves.push_back(leaf_hash(std::to_string(size)));
    tree.append(leaves.back());
    for (std::uint64_t index = 0; index < size; ++index) {
      std::vector<Digest> path;
      for (const LeafRange& range : path_ranges(index, size)) {
        Tree part;
        for (std::uint64_t i = range.begin; i < range.end; ++i) part.append(leaves[i]);
        path.push_back(part.root());
      }
      CAPTURE(size, index);
      REQUIRE(root_of_path(leaves[index], index, size, path) == tree.root());
      for (std::uint64_t other = 0; other < size; ++other) {
        if (other != index) REQUIRE(root_of_path(leaves[index], other, size, path) != tree.root());
      }
      path.push_back(leaves[0]);
      REQUIRE_FALSE(root_of_path(leaves[index], index, size, path));
    }
  }
  CHECK_FALSE(root_of_path(leaves[0], 1, 1, {}));
  CHECK_FALSE(root_of_path(leaves[0], 0, 0, {}));
}

TEST_CASE("every record but the closing checkpoint is proved, by a file that holds no other") {
  const ProofSample sample;
  for (std::uint64_t seq = 0; seq + 1 < sample.lines.size(); ++seq) {
    const std::string text = prove(sample.file, seq, sample.key()).text();
    const ProofVerdict verdict = check_proof(text, sample.key());
    CAPTURE(seq, verdict.detail);
    CHECK(verdict.outcome == Outcome::proved);
    CHECK(verdict.proof.record == sample.lines[seq]);
    CHECK(verdict.checkpoint.origin == "warder/audit/gw1");
    for (std::uint64_t other = 0; other < sample.lines.size(); ++other)
      if (other != seq) CHECK_THAT(text, !Contains(sample.lines[other]));
  }
  const std::uint64_t last = sample.lines.size() - 1;
  CHECK_THROWS_WITH(prove(sample.file, last, sample.key()), Contains("no checkpoint covers"));
  CHECK_THROWS_WITH(prove(sample.file, last + 1, sample.key()), Contains("there is no record"));
}

TEST_CASE("attack: a proof whose record, place, hashes, checkpoint or key are others is none") {
  const ProofSample sample;
  const ProofSample stranger;
  const std::string good = prove(sample.file, 3, sample.key()).text();
  const auto outcome = [&](const std::string& text) {
    return check_proof(text, sample.key()).outcome;
  };
  REQUIRE(outcome(good) == Outcome::proved);
  CHECK(check_proof(good, stranger.key()).outcome == Outcome::wrong);
  CHECK(outcome(prove(stranger.file, 3, stranger.key()).text()) == Outcome::wrong);
  CHECK(outcome(replaced(good, "index 3\n", "index 2\n")) == Outcome::wrong);
  CHECK(outcome(replaced(good, "index 3\n", "index 99\n")) == Outcome::wrong);
  CHECK(outcome(replaced(good, "index 3\n", "index 03\n")) == Outcome::unreadable);
  CHECK(outcome(replaced(good, sample.lines[3], sample.lines[4])) == Outcome::wrong);
  CHECK(outcome(replaced(good, "\"seq\":3", "\"seq\":2")) == Outcome::wrong);
  // A leaf's hash as an inner node, or the other way round, is another hash (RFC 6962's prefixes).
  Proof shortened = *Proof::parse(good);
  shortened.path.erase(shortened.path.begin());
  CHECK(outcome(shortened.text()) == Outcome::wrong);
  Proof longer = *Proof::parse(good);
  longer.path.resize(65);
  CHECK(outcome(longer.text()) == Outcome::unreadable);
  for (const char* bad : {"", "\n", "warder-audit-proof 1\n", "warder-audit-proof 2\n{}\n\n"})
    CHECK(outcome(bad) == Outcome::unreadable);
}

TEST_CASE("attack: no single changed byte of a proof is let pass, and no cut") {
  const ProofSample sample;
  const std::string good = prove(sample.file, 3, sample.key()).text();
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char bit : {'\x01', '\x20', '\x80'}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ bit);
      CAPTURE(i, bad[i]);
      if (check_proof(bad, sample.key()).outcome == Outcome::proved) FAIL("not found");
    }
    CAPTURE(i);
    if (check_proof(good.substr(0, i), sample.key()).outcome == Outcome::proved) FAIL("cut");
  }
}

TEST_CASE("attack: nothing is proved from a file that was changed or signed by others") {
  const ProofSample sample;
  auto lines = sample.lines;
  lines[5] = replaced(lines[5], "T12:", "T13:");
  write_file(sample.dir / "bad.jsonl", joined(lines));
  CHECK_THROWS_AS(prove(sample.dir / "bad.jsonl", 3, sample.key()), CannotProve);
  CHECK_THROWS_AS(prove(sample.file, 3, ProofSample().key()), CannotProve);
  CHECK_THROWS_AS(prove(sample.dir / "absent", 3, sample.key()), CannotProve);
  write_file(sample.dir / "empty.jsonl", "");
  CHECK_THROWS_WITH(prove(sample.dir / "empty.jsonl", 0, sample.key()), Contains("no checkpoint"));
}
