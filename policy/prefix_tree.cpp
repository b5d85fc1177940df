#include "policy/prefix_tree.hpp"

#include <algorithm>
#include <deque>

namespace warder {
namespace {

using Texts = std::vector<std::pair<std::string, std::uint32_t>>;

// Sorted texts that share their first `depth` bytes, and the node where those end.
struct Group {
  std::size_t begin;
  std::size_t end;
  std::size_t depth;
  std::size_t node;
};

// How far the label goes: as far as first and last, and so all, agree; kAnySegment stands alone.
std::size_t label_size(const std::string& first, const std::string& last, std::size_t depth) {
  if (first[depth] == PrefixTree::kAnySegment) return 1;
  std::size_t end = depth;
  while (end < first.size() && end < last.size() && first[end] == last[end] &&
         first[end] != PrefixTree::kAnySegment) {
    ++end;
  }
  return end - depth;
}

}  // namespace

PrefixTree::PrefixTree(Texts texts) {
  if (texts.empty()) return;
  std::sort(texts.begin(), texts.end());
  nodes_.emplace_back();
  first_bytes_ = "/";  // of the root, where nothing looks
  for (std::deque<Group> open{{0, texts.size(), 0, 0}}; !open.empty(); open.pop_front()) {
    Group group = open.front();
    if (texts[group.begin].first.size() == group.depth)
      nodes_[group.node].value = texts[group.begin++].second;
    nodes_[group.node].first_child = static_cast<std::uint32_t>(nodes_.size());
    for (std::size_t begin = group.begin; begin < group.end;) {
      const char first = texts[begin].first[group.depth];
      std::size_t end = begin;
      while (end < group.end && texts[end].first[group.depth] == first) ++end;
      const std::size_t size = label_size(texts[begin].first, texts[end - 1].first, group.depth);
      Node child;
      child.label = static_cast<std::uint32_t>(labels_.size());
      child.label_size = static_cast<std::uint16_t>(size);
      labels_.append(texts[begin].first, group.depth, size);
      first_bytes_ += first;
      ++nodes_[group.node].children;
      open.push_back({begin, end, group.depth + size, nodes_.size()});
      nodes_.push_back(child);
      begin = end;
    }
  }
}

std::uint32_t PrefixTree::top_below(std::string_view prefix) const {
  if (nodes_.empty()) return kNone;
  std::uint32_t at = 0;
  while (!prefix.empty()) {
    at = child_of(nodes_[at], prefix.front());
    if (at == kNone) return kNone;
    const std::string_view label = label_of(nodes_[at]);
    const std::size_t shared = std::min(label.size(), prefix.size());
    if (label.substr(0, shared) != prefix.substr(0, shared)) return kNone;
    prefix.remove_prefix(shared);
  }
  return at;
}

}  // namespace warder
