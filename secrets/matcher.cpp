#include "secrets/matcher.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "secrets/matcher_tables.hpp"

namespace warder {
namespace {

using Byte = std::uint8_t;

constexpr std::size_t kMaxWindow =
    64;  // bounds the bytes that are read twice at the end of each chunk
constexpr std::size_t kMinWindow = 4;  // below, skipping costs more than it saves
// Of the shift table: 32 KiB stay in the first-level cache, 256 KiB are for thousands of patterns.
constexpr int kMinShiftBits = 15;
constexpr int kMaxShiftBits = 18;

std::size_t hash3(const char* at, unsigned bits) {
  const auto byte = [&](int i) { return static_cast<std::uint32_t>(static_cast<Byte>(at[i])); };
  const std::uint32_t gram = byte(0) | byte(1) << 8 | byte(2) << 16;
  return gram * 0x9E3779B1U >> (32 - bits);
}

}  // namespace

Matcher::Tables::Tables(const std::vector<std::string>& patterns) {
  Order sorted(patterns.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(patterns[a], a) < std::tie(patterns[b], b);
  });
  for (const std::string& pattern : patterns) {
    sizes.push_back(static_cast<std::uint32_t>(pattern.size()));
    longest = std::max(longest, pattern.size());
  }
  build_trie(patterns, sorted);
  link();
  build_shifts(patterns);
}

// A node is a range of the sorted patterns that agree in their first `depth` bytes; nodes are made
// breadth first, so the edges of each lie together and every failure link points backwards.
void Matcher::Tables::build_trie(const std::vector<std::string>& patterns, const Order& sorted) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges{{0, sorted.size()}};
  nodes.emplace_back();
  for (std::size_t state = 0; state < nodes.size(); ++state) {
    auto [begin, end] = ranges[state];
    const std::uint32_t depth = nodes[state].depth;
    for (; begin < end && sizes[sorted[begin]] == depth; ++begin) {
      if (depth != 0 && nodes[state].hit == npos) nodes[state].hit = sorted[begin];
    }
    nodes[state].first_edge = static_cast<std::uint32_t>(edges.size());
    while (begin < end) {
      const char byte = patterns[sorted[begin]][depth];
      std::size_t next = begin;
      while (next < end && patterns[sorted[next]][depth] == byte) ++next;
      edges.push_back({static_cast<Byte>(byte), static_cast<std::uint32_t>(nodes.size())});
      nodes.emplace_back().depth = depth + 1;
      ranges.emplace_back(begin, next);
      begin = next;
    }
    nodes[state].edge_count = static_cast<std::uint32_t>(edges.size()) - nodes[state].first_edge;
  }
}

void Matcher::Tables::link() {
  for (std::uint32_t i = 0; i < nodes[0].edge_count; ++i) root[edges[i].byte] = edges[i].to;
  for (std::uint32_t state = 0; state < nodes.size(); ++state) {
    Node& node = nodes[state];
    const Node& suffix = nodes[node.fail];
    if (node.hit == npos) node.hit = suffix.hit;
    node.live = node.edge_count != 0 ? node.depth : suffix.live;
    for (std::uint32_t i = node.first_edge; i < node.first_edge + node.edge_count; ++i) {
      nodes[edges[i].to].fail = state == 0 ? 0 : step(node.fail, edges[i].byte);
    }
  }
}

void Matcher::Tables::build_shifts(const std::vector<std::string>& patterns) {
  std::size_t shortest = kMaxWindow;
  for (const std::string& pattern : patterns) shortest = std::min(shortest, pattern.size());
  if (patterns.empty() || shortest < kMinWindow) return;
  window = shortest;
  shift_bits = static_cast<unsigned>(
      std::clamp<int>(std::bit_width(patterns.size() * window), kMinShiftBits, kMaxShiftBits));
  shifts.assign(std::size_t{1} << shift_bits, static_cast<Byte>(window - 2));
  for (const std::string& pattern : patterns) {
    for (std::size_t last = 2; last < window; ++last) {
      Byte& shift = shifts[hash3(pattern.data() + last - 2, shift_bits)];
      shift = std::min(shift, static_cast<Byte>(window - 1 - last));
    }
  }
}

std::size_t Matcher::Tables::skip(std::string_view text, std::size_t at) const {
  if (window == 0) return at;
  const char* const data = text.data();
  const std::size_t size = text.size();
  const Byte* const table = shifts.data();
  const unsigned bits = shift_bits;
  std::size_t last = at + window - 1;
  while (last < size) {
    const Byte shift = table[hash3(data + last - 2, bits)];
    if (shift == 0) return last - (window - 1);
    last += shift;
  }
  // The window reaches beyond the end: what has begun there ends in its last three bytes.
  at = last - (window - 1);
  if (size < at + 3) return at;
  const std::size_t most = window - table[hash3(data + size - 3, bits)];
  return std::max(at, size - std::min(size, most));
}

Matcher::Matcher(const std::vector<std::string>& patterns)
    : tables_(std::make_unique<const Tables>(patterns)) {}
Matcher::~Matcher() = default;

bool Matcher::empty() const { return tables_->sizes.empty(); }
std::size_t Matcher::longest() const { return tables_->longest; }

Matcher::Hit Matcher::find(std::string_view text, std::size_t from) const {
  StreamScanner scanner(*this);
  const auto hit = scanner.next(text.substr(from), StreamScanner::Input::last);
  if (!hit) return {text.size(), text.size(), npos};
  return {hit->begin + from, hit->end + from, hit->pattern};
}

std::optional<Matcher::Hit> StreamScanner::next(std::string_view text, Input input) {
  const Matcher::Tables& tables = *matcher_->tables_;
  if (matcher_->empty()) {
    at_ = text.size();
    return std::nullopt;
  }
  while (at_ < text.size()) {
    if (state_ == 0) at_ = tables.skip(text, at_);
    state_ = tables.step(state_, static_cast<Byte>(text[at_++]));
    const Matcher::Tables::Node& node = tables.nodes[state_];
    live_ = node.live;
    if (node.hit != Matcher::npos) {
      // Of the patterns that end here the longest begins first. It replaces one that began later,
      // or that began at the same place and was shorter.
      const std::size_t begin = at_ - tables.sizes[node.hit];
      if (!pending_ || begin <= pending_->begin) pending_ = {begin, at_, node.hit};
    }
    if (pending_ && at_ - live_ > pending_->begin) return decide();
  }
  if (input == Input::last && pending_) return decide();
  if (input == Input::last) live_ = 0;
  return std::nullopt;
}

// What was read behind the hit is read again: hits do not overlap.
std::optional<Matcher::Hit> StreamScanner::decide() {
  const Matcher::Hit hit = *pending_;
  restart(hit.end);
  return hit;
}

std::size_t StreamScanner::settled() const {
  const std::size_t begun = at_ - live_;
  return pending_ ? std::min(begun, pending_->begin) : begun;
}

void StreamScanner::restart(std::size_t at) {
  pending_.reset();
  at_ = at;
  state_ = 0;
  live_ = 0;
}

void StreamScanner::drop(std::size_t n) {
  at_ -= n;
  if (!pending_) return;
  pending_->begin -= n;
  pending_->end -= n;
}

std::optional<Matcher::Hit> ByteScanner::next(std::string_view text) {
  const Matcher::Tables& tables = *matcher_->tables_;
  if (matcher_->empty()) at_ = text.size();
  while (at_ < text.size()) {
    if (state_ == 0) at_ = tables.skip(text, at_);
    state_ = tables.step(state_, static_cast<Byte>(text[at_++]));
    const Matcher::Tables::Node& node = tables.nodes[state_];
    live_ = node.live;
    if (node.hit != Matcher::npos) {
      return Matcher::Hit{at_ - tables.sizes[node.hit], at_, node.hit};
    }
  }
  return std::nullopt;
}

}  // namespace warder
