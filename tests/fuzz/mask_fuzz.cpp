// Invariant: however a body is cut, and whatever is held meanwhile, the mask gives the same bytes: no value as it
// stands, no other length where lengths stay, and never more held than the longest spelling. Where lengths stay they are the
// oracle's: no byte is seen of any value, overlapping ones included.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/mask.hpp"
#include "secrets/spelling.hpp"
#include "tests/secrets/mask_oracle.hpp"

namespace {

using namespace warder;
using Holding = Masker::Holding;

// Short, so that the fuzzer finds them; of the alphabets that escapes themselves are made of.
constexpr std::string_view kToken = "abc_41-xyz";
constexpr std::string_view kMarks = "5%&\\\"/<;#u";

const test::MaskOracle::Secrets& secrets() {
  static const test::MaskOracle::Secrets all{{std::string(kToken), "ABCDEFGHIJ"},
                                             {"abc_41-xyzabcd", "KLMNOPQRSTUVWX"},
                                             {"xyzabc_4", "YZYZYZYZ"},
                                             {"41414141", "UVUVUVUV"}};
  return all;
}
const MaskSet& keeping() {
  static const MaskSet set([] {
    std::vector<MaskSet::Entry> entries;
    for (const auto& [value, placeholder] : secrets()) entries.push_back({value, placeholder, "s"});
    return entries;
  }());
  return set;
}
const MaskSet& changing() {
  static const MaskSet set(
      {{kToken, "ABCDEFGHIJKLM", "token"}, {kMarks, "NOPQRSTUVWXYZ", "marks"}});
  return set;
}

constexpr std::size_t kMaxHeld = 40 * kMaxUnit;  // longer than any form of these, all in escapes

std::string masked(const MaskSet& set, std::string_view body, std::string_view cuts,
                   Holding holding) {
  Masker masker(set, holding);
  std::string scratch;
  std::string out;
  std::size_t cut = 0;
  while (!body.empty()) {
    const std::size_t wish =
        cuts.empty() ? body.size() : static_cast<unsigned char>(cuts[cut++ % cuts.size()]) % 40;
    const std::string_view piece = body.substr(0, wish);
    body.remove_prefix(piece.size());
    out += masker.feed(piece, scratch);
    if (masker.held() > kMaxHeld) std::abort();
    if (wish == 0) {
      out += masker.feed(body.substr(0, 1), scratch);
      body.remove_prefix(body.empty() ? 0 : 1);
    }
  }
  out += masker.finish(scratch);
  if (masker.held() != 0) std::abort();
  return out;
}

void check(const MaskSet& set, std::string_view body, std::string_view cuts) {
  const std::string whole = masked(set, body, {}, Holding::beginnings);
  if (masked(set, body, cuts, Holding::beginnings) != whole) std::abort();
  if (masked(set, body, cuts, Holding::words) != whole) std::abort();
  if (!set.changes_length() && whole.size() != body.size()) std::abort();
  if (whole.find(kToken) != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cuts = input.empty() ? 0 : static_cast<unsigned char>(input[0]) % 8;
  const std::string_view body = input.substr(std::min(size, 1 + cuts));
  check(keeping(), body, input.substr(0, cuts));
  static const test::MaskOracle oracle(secrets());
  if (masked(keeping(), body, {}, Holding::words) != oracle.masked(std::string(body))) std::abort();
  check(changing(), body, input.substr(0, cuts));
  return 0;
}
