// YAML as the configuration uses it: maps, lists and scalars with their places. What makes YAML
// surprising is refused here: anchors, aliases, merge keys, tags, several documents, duplicate
// keys, control bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warder {

struct YamlPlace {
  int line = 1;
  int column = 1;
};

struct YamlEntry;

struct YamlNode {
  enum class Kind : std::uint8_t { null, scalar, list, map };
  Kind kind = Kind::null;
  YamlPlace place;
  std::string text;                // scalar
  bool is_quoted = false;          // scalar
  std::vector<YamlNode> items;     // list
  std::vector<YamlEntry> entries;  // map, in the order of the file, keys unique
};

struct YamlEntry {
  std::string key;
  YamlPlace place;
  YamlNode value;
};

struct YamlLimits {
  std::size_t bytes = 4 * 1024 * 1024;
  std::size_t depth = 16;
  std::size_t nodes = 500'000;
};

// Throws ConfigError, which names `file`. A file without a document is an error.
YamlNode parse_yaml(const std::string& bytes, const std::string& file,
                    const YamlLimits& limits = {});

// "file:line:column: sentence"
[[noreturn]] void fail_at(const std::string& file, YamlPlace place, const std::string& sentence);

}  // namespace warder
