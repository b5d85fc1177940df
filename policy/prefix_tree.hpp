// Which of many texts are a prefix of this one? A radix tree: the cost grows with the length of the
// question and the number of answers, not with how many texts there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warder {

class PrefixTree {
 public:
  // In a text: any run of characters up to the next '/' or the end.
  static constexpr char kAnySegment = '\0';

  PrefixTree() = default;
  // Each text with its value; no text twice.
  explicit PrefixTree(std::vector<std::pair<std::string, std::uint32_t>> texts);

  // Calls `visit(value, length)` for each, in no order; `length` is how much of `text` it covers.
  template <class Visit>
  void for_each_prefix(std::string_view text, Visit&& visit) const {
    if (!nodes_.empty()) walk(0, text, 0, visit);
  }
  // Calls `visit(value)` for each text that begins with `prefix` (and has no kAnySegment in it),
  // until one says false.
  template <class Visit>
  void for_each_below(std::string_view prefix, Visit&& visit) const {
    if (const std::uint32_t top = top_below(prefix); top != kNone) (void)visit_all(top, visit);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  // Children lie side by side, in the order of the first bytes of their labels.
  struct Node {
    std::uint32_t label = 0;  // where it begins in labels_
    std::uint32_t first_child = 0;
    std::uint32_t value = kNone;
    std::uint16_t label_size = 0;
    std::uint16_t children = 0;
  };

  std::string_view label_of(const Node& node) const {
    return std::string_view(labels_).substr(node.label, node.label_size);
  }
  std::uint32_t child_of(const Node& node, char first) const {
    const char* keys = first_bytes_.data() + node.first_child;
    const void* found = node.children == 0 ? nullptr : std::memchr(keys, first, node.children);
    if (found == nullptr) return kNone;
    return node.first_child + static_cast<std::uint32_t>(static_cast<const char*>(found) - keys);
  }
  std::uint32_t top_below(std::string_view prefix) const;

  template <class Visit>
  void walk(std::uint32_t at, std::string_view text, std::size_t covered, Visit& visit) const {
    for (;;) {
      const Node& node = nodes_[at];
      if (node.value != kNone) visit(node.value, covered);
      if (node.children == 0) return;
      if (first_bytes_[node.first_child] == kAnySegment)
        walk(node.first_child, text, std::min(text.find('/', covered), text.size()), visit);
      if (covered == text.size() || text[covered] == kAnySegment) return;
      at = child_of(node, text[covered]);
      if (at == kNone) return;
      const std::string_view label = label_of(nodes_[at]);
      if (text.compare(covered, label.size(), label) != 0) return;
      covered += label.size();
    }
  }
  template <class Visit>
  bool visit_all(std::uint32_t at, Visit& visit) const {
    const Node& node = nodes_[at];
    if (node.value != kNone && !visit(node.value)) return false;
    for (std::uint32_t child = 0; child < node.children; ++child) {
      if (!visit_all(node.first_child + child, visit)) return false;
    }
    return true;
  }

  std::vector<Node> nodes_;
  std::string first_bytes_;  // of the label of each node
  std::string labels_;
};

}  // namespace warder
