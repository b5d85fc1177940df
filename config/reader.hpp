// Reads typed values from the tree; whatever does not fit is one error with its place and a
// correction.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/yaml_tree.hpp"

namespace warder {

// The keys of one map and what an error calls it ("a rule").
struct Keys {
  std::string what;
  std::vector<std::string> known;
};

class Reader {
 public:
  // Of one list or map. Keeps hostile files quick to refuse.
  static constexpr std::size_t kMaxList = 2000;

  explicit Reader(std::filesystem::path file) : file_(std::move(file)), name_(file_.string()) {}

  [[noreturn]] void fail(YamlPlace place, const std::string& sentence) const {
    fail_at(name_, place, sentence);
  }
  // "warder.yaml:12": without directories, because the sandbox reads it too.
  std::string where(YamlPlace place) const;
  // "dir/warder.yaml:12:5"
  std::string exact(YamlPlace place) const;
  std::filesystem::path resolved(const std::string& path) const;

  // `node` is a map and has no key but these. Keys that the design names but this version does not
  // have are errors of their own.
  void expect_keys(const YamlNode& node, const Keys& keys) const;
  // The value of `key`, or nullptr. A key without a value is an error.
  const YamlNode* find(const YamlNode& map, std::string_view key) const;
  const YamlNode& need(const YamlNode& map, std::string_view key, const Keys& keys) const;

  // `key` names the value in the error.
  void expect_map(const YamlNode& node, std::string_view key) const;
  // Never empty: an empty list would match nothing, or everything.
  const std::vector<YamlNode>& list(const YamlNode& node, std::string_view key) const;
  const std::vector<YamlNode>& bounded(const YamlNode& node, std::string_view key,
                                       std::size_t most = kMaxList) const;
  const std::string& text(const YamlNode& node, std::string_view key) const;
  std::uint16_t port(const YamlNode& node) const;
  bool yes_or_no(const YamlNode& node, std::string_view key) const;
  std::chrono::milliseconds duration(const YamlNode& node, std::string_view key) const;
  std::filesystem::path path(const YamlNode& node, std::string_view key) const;

 private:
  std::filesystem::path file_;
  std::string name_;
};

// What a value is, for an error: "a list", "a map", "empty", or the text in quotes.
std::string describe(const YamlNode& node);

// A byte that a terminal obeys or that ends a C string; YAML's "\x1b" can make one.
bool has_control(std::string_view text);
// [A-Za-z0-9_-], up to 64: secrets, policies.
bool is_plain_name(std::string_view name);
// [A-Za-z0-9._-], up to 64: rules.
bool is_rule_name(std::string_view name);
// [A-Za-z_][A-Za-z0-9_]*
bool is_env_name(std::string_view name);
// Variables of the sandbox that a placeholder must not replace.
bool is_reserved_env(std::string_view name);

}  // namespace warder
