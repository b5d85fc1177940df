// Ten thousand random changes of a log, by a fixed seed: the verifier calls none of them intact.
#include <random>
#include <utility>

#include "tests/audit/support.hpp"

using namespace warder;
using namespace warder::audit;
using namespace warder::audit::test;

namespace {

using Lines = std::vector<std::string>;
using Random = std::mt19937;

std::size_t below(Random& random, std::size_t end) { return random() % end; }

// A log of a real gateway's writer: two sessions, two runs, checkpoints in the middle.
std::string real_log(const TempDir& dir) {
  TestClock clock;
  for (int run = 0; run < 2; ++run) {
    auto log = Log::open(options_in(dir), clock);
    append(*log, SessionStart{"s1", "p", "ab", {"git", "clone"}, {"github"}, ""});
    for (std::uint64_t i = 1; i <= 6; ++i) exchange(*log, i);
    append(*log, DnsQuery{"s1", "evil.test", "A", "NXDOMAIN", Reason::name_not_allowed});
    append(*log, SecretChange{"s1", "github", 2, "rotated"});
    append(*log, SessionEnd{"s1", 0, 6, 1});
    REQUIRE(log->close());
  }
  return read_file(dir / "a.jsonl");
}

std::string mutated_bytes(const std::string& text, Random& random) {
  std::string out = text;
  const std::size_t at = below(random, out.size());
  const std::size_t most = std::min<std::size_t>(out.size() - at, 300);
  const std::size_t n = 1 + below(random, most);
  switch (below(random, 6)) {
    case 0: out[at] = static_cast<char>(out[at] ^ (1 << below(random, 8))); break;
    case 1: out[at] = static_cast<char>(random()); break;
    case 2: out.erase(at, n); break;
    case 3: out.insert(at, out.substr(at, n)); break;
    case 4: std::swap(out[at], out[below(random, out.size())]); break;
    default: out.resize(at); break;
  }
  return out;
}

std::string mutated_lines(Lines lines, Random& random) {
  const std::size_t a = below(random, lines.size());
  const std::size_t b = below(random, lines.size());
  const auto place = [&](std::size_t i) { return lines.begin() + static_cast<std::ptrdiff_t>(i); };
  switch (below(random, 6)) {
    case 0: lines.erase(place(a)); break;
    case 1: std::swap(lines[a], lines[b]); break;
    case 2: lines.insert(place(b), std::string(lines[a])); break;
    case 3: lines.resize(a); break;
    case 4: lines[a] = lines[b]; break;
    default: lines.erase(place(std::min(a, b)), place(std::max(a, b))); break;
  }
  return joined(lines);
}

}  // namespace

TEST_CASE("attack: ten thousand random changes of bytes and lines are all found") {
  const TempDir dir(quick_directory());
  const std::string text = real_log(dir);
  const Lines lines = lines_of(text);
  // The end of the first run ends a whole, closed log: only an anchor shows that one was cut there.
  write_file(dir / "anchor", ParsedLine::parse(lines.back())->text("note"));
  Random random(20261129);
  int changes = 0;
  for (int i = 0; changes < 10'000; ++i) {
    const std::string bad = i % 2 == 0 ? mutated_bytes(text, random) : mutated_lines(lines, random);
    if (bad == text) continue;
    ++changes;
    write_file(dir / "copy.jsonl", bad);
    const auto found =
        verify_with_key(dir / "copy.jsonl", dir / "audit.key", {dir / "anchor"}).outcome;
    CAPTURE(i);
    if (found != Verification::Outcome::broken) {
      write_file(fs::temp_directory_path() / "warder-mutation.jsonl", bad);
      FAIL("not found; the file is warder-mutation.jsonl in the directory for temporary files");
    }
  }
  CHECK(changes == 10'000);
}
