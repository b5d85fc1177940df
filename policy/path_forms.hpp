// The forms that servers make of a path before they route it: what a deny rule must look at besides
// the path as sent.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warder {

// A server that decodes more often than this is not one that a rule can protect.
inline constexpr int kMaxDecodings = 3;

enum class EscapedSlash : std::uint8_t { letter, slash };
// Stands for a decoded %2F that is not a separator. Never in a path as sent.
inline constexpr char kSlashLetter = '\x01';

// Escapes decoded once; a broken one stays as it is.
std::string decode_escapes(std::string_view path, EscapedSlash escaped);
// The letters of escapes in upper case, all else as it is.
std::string with_upper_escapes(std::string_view path);
std::string collapse_slashes(std::string_view path);
// "/a;x=1/b" as "/a/b".
std::string cut_parameters(std::string_view path);
// "/a/./b/../c" as "/a/c".
std::string resolve_dots(std::string_view path);

// All of those forms of one path, each once: escapes decoded (also twice), %2F as a slash and as a
// letter, "//" as "/", ";parameters" cut, dots resolved, a trailing slash dropped. `path` is
// borrowed.
class PathForms {
 public:
  explicit PathForms(std::string_view path);
  PathForms(const PathForms&) = delete;
  PathForms& operator=(const PathForms&) = delete;

  std::span<const std::string_view> all() const { return all_; }

 private:
  void add_forms_of(const std::string& decoded);
  void add(std::string_view form);

  std::vector<std::string> made_;
  std::vector<std::string_view> all_;
};

}  // namespace warder
