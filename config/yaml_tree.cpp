#include "config/yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "config/config.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

YamlPlace place_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {mark.line + 1, mark.column + 1};
}

constexpr const char* kAlias =
    "a word begins with \"*\", which is an alias to YAML and not supported: put it in quotes, as "
    "in "
    "\"*.example.com\"";

// Builds the tree from the parser's events, so that aliases are never expanded and depth is known
// before memory is used.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& file, const YamlLimits& limits) : file_(file), limits_(limits) {}

  std::optional<YamlNode> root;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) {
      fail_at(file_, place_of(mark),
              "a second YAML document begins here: a configuration is one document");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    YamlNode node;
    node.place = place_of(mark);
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail_at(file_, place_of(mark), kAlias);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.place = place_of(mark);
    node.text = value;
    node.is_quoted = tag == "!";
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override {
    refuse_duplicates(open_.back().node);
    close();
  }

 private:
  struct Open {
    YamlNode node;
    std::optional<YamlNode> key;  // read, its value not yet
  };

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor == YAML::NullAnchor) return;
    fail_at(file_, place_of(mark),
            "a YAML anchor (\"&\") stands here, which is not supported: write the text out where "
            "it is used");
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    fail_at(file_, place_of(mark),
            "a YAML tag " + in_quotes(tag) + " stands here, which is not supported");
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (open_.size() >= limits_.depth) {
      fail_at(file_, place_of(mark),
              "nested more than " + std::to_string(limits_.depth) + " levels deep");
    }
    Open level;
    level.node.kind = kind;
    level.node.place = place_of(mark);
    open_.push_back(std::move(level));
  }

  void close() {
    YamlNode done = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(done));
  }

  void add(YamlNode node) {
    if (++nodes_ > limits_.nodes) {
      fail_at(file_, node.place, "more than " + std::to_string(limits_.nodes) + " entries");
    }
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      if (node.kind != YamlNode::Kind::scalar)
        fail_at(file_, node.place, "a key must be a word: not a list, a map or null");
      if (node.text == "<<") {
        fail_at(file_, node.place,
                "the YAML merge key \"<<\" is not supported: write the keys out");
      }
      parent.key = std::move(node);
    } else {
      parent.node.entries.push_back(
          {std::move(parent.key->text), parent.key->place, std::move(node)});
      parent.key.reset();
    }
  }

  void refuse_duplicates(const YamlNode& map) const {
    std::vector<const YamlEntry*> sorted;
    for (const YamlEntry& entry : map.entries) sorted.push_back(&entry);
    // Equal keys stay in the order of the file: the entries lie in one array.
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
      return a->key != b->key ? a->key < b->key : a < b;
    });
    const auto twice =
        std::adjacent_find(sorted.begin(), sorted.end(),
                           [](const auto* a, const auto* b) { return a->key == b->key; });
    if (twice == sorted.end()) return;
    fail_at(file_, twice[1]->place,
            "key " + in_quotes(twice[1]->key) + " stands twice in this map (first in line " +
                std::to_string(twice[0]->place.line) + "): remove one");
  }

  const std::string& file_;
  const YamlLimits& limits_;
  std::vector<Open> open_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

// yaml-cpp takes 0x04 for the end of the file, reads UTF-16 and skips directives: none of them may
// hide a part of the file from whoever reviews it.
void refuse_hidden_text(const std::string& bytes, const std::string& file) {
  YamlPlace place;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < ' ' && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f) {
      fail_at(file, place, "a control byte stands here: a configuration is plain UTF-8 text");
    }
    if (c == '%' && place.column == 1) {
      fail_at(file, place,
              "a YAML directive (\"%\") stands here, which is not supported: remove the line");
    }
    ++place.column;
    if (c == '\n') place = {place.line + 1, 1};
  }
}

}  // namespace

void fail_at(const std::string& file, YamlPlace place, const std::string& sentence) {
  throw ConfigError(file + ':' + std::to_string(place.line) + ':' + std::to_string(place.column) +
                    ": " + sentence);
}

YamlNode parse_yaml(const std::string& bytes, const std::string& file, const YamlLimits& limits) {
  if (bytes.size() > limits.bytes) {
    throw ConfigError(file + ": larger than " + std::to_string(limits.bytes) +
                      " bytes, which no configuration needs");
  }
  refuse_hidden_text(bytes, file);
  TreeBuilder builder(file, limits);
  try {
    std::istringstream stream(bytes);
    YAML::Parser parser(stream);
    // The second call finds what follows the document; one more would be needed for a third, and
    // never returns on some malformed text.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& error) {
    const bool alias = error.msg.starts_with(YAML::ErrorMsg::UNKNOWN_ANCHOR);
    fail_at(file, place_of(error.mark), alias ? kAlias : "not YAML: " + error.msg);
  }
  if (!builder.root || builder.root->kind == YamlNode::Kind::null) {
    fail_at(file, {}, "the file is empty, which would allow nothing: begin with \"version: 1\"");
  }
  return std::move(*builder.root);
}

}  // namespace warder
