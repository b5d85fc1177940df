#include "policy/path_forms.hpp"

#include <algorithm>
#include <vector>

#include "http/chars.hpp"

namespace warder {
namespace {

// The byte that the escape at `at` means; -1 when there is none.
int escaped_byte(std::string_view path, std::size_t at) {
  if (path[at] != '%' || path.size() - at < 3) return -1;
  const int high = hex_value(path[at + 1]);
  const int low = hex_value(path[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

char upper(char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

std::string decode_escapes(std::string_view path, EscapedSlash escaped) {
  std::string out;
  out.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    const int byte = escaped_byte(path, i);
    if (byte < 0) {
      out += path[i];
      continue;
    }
    const bool letter = byte == '/' && escaped == EscapedSlash::letter;
    out += letter ? kSlashLetter : static_cast<char>(byte);
    i += 2;
  }
  return out;
}

std::string with_upper_escapes(std::string_view path) {
  std::string out(path);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (escaped_byte(path, i) < 0) continue;
    out[i + 1] = upper(out[i + 1]);
    out[i + 2] = upper(out[i + 2]);
    i += 2;
  }
  return out;
}

std::string collapse_slashes(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (const char c : path) {
    if (c != '/' || out.empty() || out.back() != '/') out += c;
  }
  return out;
}

std::string cut_parameters(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  bool in_parameters = false;
  for (const char c : path) {
    if (c == '/') in_parameters = false;
    if (c == ';') in_parameters = true;
    if (!in_parameters) out += c;
  }
  return out;
}

std::string resolve_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  bool ends_open = true;
  for (std::size_t at = 0; at < path.size();) {
    if (path[at] == '/') ++at;
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view segment = path.substr(at, end - at);
    at = end;
    ends_open = segment.empty() || segment == "." || segment == "..";
    if (segment == ".." && !kept.empty()) kept.pop_back();
    if (!ends_open) kept.push_back(segment);
  }
  std::string out;
  for (const std::string_view segment : kept) out.append("/").append(segment);
  if (ends_open) out += '/';
  return out;
}

}  // namespace warder
