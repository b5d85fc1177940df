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

bool has_one_form(std::string_view path) {
  return path.find_first_of("%;") == std::string_view::npos &&
         path.find("//") == std::string_view::npos && path.find("/.") == std::string_view::npos &&
         !path.ends_with('/');
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

PathForms::PathForms(std::string_view path) {
  if (has_one_form(path)) {
    all_ = {path};
    return;
  }
  std::string form(path);
  for (int round = 0; round < kMaxDecodings; ++round) {
    std::string slashes = decode_escapes(form, EscapedSlash::slash);
    add_forms_of(decode_escapes(form, EscapedSlash::letter));
    add_forms_of(slashes);
    if (slashes == form) break;
    form = std::move(slashes);
  }
  all_.assign(made_.begin(), made_.end());
}

void PathForms::add_forms_of(const std::string& decoded) {
  const auto add_both = [this](std::string_view form) {
    add(form);
    if (form.size() > 1 && form.ends_with('/')) add(form.substr(0, form.size() - 1));
  };
  add_both(decoded);
  // What follows would leave it as it is.
  if (decoded.starts_with('/') && decoded.find(';') == std::string::npos &&
      decoded.find("//") == std::string::npos && decoded.find("/.") == std::string::npos)
    return;
  const std::string collapsed = collapse_slashes(decoded);
  const std::string cut = collapse_slashes(cut_parameters(collapsed));
  for (const std::string& form : {collapsed, cut, resolve_dots(cut)}) add_both(form);
}

void PathForms::add(std::string_view form) {
  if (std::find(made_.begin(), made_.end(), form) == made_.end()) made_.emplace_back(form);
}

}  // namespace warder
