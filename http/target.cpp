#include "http/target.hpp"

#include <algorithm>

#include "http/chars.hpp"

namespace warder {
namespace {

constexpr CharClass kTargetChar =
    char_class([](int c) { return c > ' ' && c < 0x7f && c != '#' && c != '\\'; });

// All of an authority form, the authority of an absolute form; empty in the others.
std::string_view host_part(std::string_view method, std::string_view target) {
  if (method == "CONNECT") return target;
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return {};
  const std::string_view rest = target.substr(scheme + 3);
  return rest.substr(0, rest.find_first_of("/?"));
}

void split_path(Target& target, std::string_view text) {
  const std::size_t mark = text.find('?');
  target.path = text.substr(0, mark);
  if (target.path.empty()) target.path = "/";
  target.has_query = mark != std::string_view::npos;
  if (target.has_query) target.query = text.substr(mark + 1);
}

std::optional<Target> parse_authority_form(std::string_view text) {
  Result<HostPort> host_port = parse_host_port(text);
  if (!host_port || !host_port->port) return std::nullopt;
  Target target;
  target.form = Target::Form::authority;
  target.host_port = std::move(*host_port);
  return target;
}

std::optional<Target> parse_absolute_form(std::string_view text) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos) return std::nullopt;
  Target target;
  target.form = Target::Form::absolute;
  if (same_name(text.substr(0, end), "http")) {
    target.scheme = Scheme::http;
  } else if (same_name(text.substr(0, end), "https")) {
    target.scheme = Scheme::https;
  } else {
    return std::nullopt;
  }
  text.remove_prefix(end + 3);
  const std::size_t path = std::min(text.find_first_of("/?"), text.size());
  // HostName has no '@', so userinfo ends here.
  Result<HostPort> host_port = parse_host_port(text.substr(0, path));
  if (!host_port) return std::nullopt;
  target.host_port = std::move(*host_port);
  split_path(target, text.substr(path));
  return target;
}

enum class BrokenEscape : std::uint8_t { refuse, keep };

// nullopt for a broken escape that is not kept.
std::optional<std::string> percent_decode(std::string_view text, BrokenEscape broken) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool whole = text[at] == '%' && text.size() - at >= 3 && hex_value(text[at + 1]) >= 0 &&
                       hex_value(text[at + 2]) >= 0;
    if (whole) {
      out.push_back(static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2])));
      at += 2;
    } else if (text[at] == '%' && broken == BrokenEscape::refuse) {
      return std::nullopt;
    } else {
      out.push_back(text[at]);
    }
  }
  return out;
}

// %2F has become a slash here: servers that decode before they split would see these segments. Some
// drop a segment's ";parameters" first, so "..;x" is a dot segment to them.
bool has_dot_segment(std::string_view path) {
  for (;;) {
    const std::size_t slash = path.find_first_of("/\\");
    const std::string_view segment = path.substr(0, slash);
    const std::string_view name = segment.substr(0, segment.find(';'));
    if (name == "." || name == "..") return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

bool has_target_chars(std::string_view method, std::string_view target) {
  if (all_in(kTargetChar, target)) return true;
  const std::string_view host = host_part(method, target);
  if (host.empty()) return false;
  const auto begin = static_cast<std::size_t>(host.data() - target.data());
  const auto fits = [](char c) {
    return is_in(kTargetChar, c) || static_cast<unsigned char>(c) >= 0x80;
  };
  return all_in(kTargetChar, target.substr(0, begin)) &&
         std::all_of(host.begin(), host.end(), fits) &&
         all_in(kTargetChar, target.substr(begin + host.size()));
}

std::optional<Target> parse_target(std::string_view method, std::string_view target) {
  if (target.empty() || !has_target_chars(method, target)) return std::nullopt;
  if (method == "CONNECT") return parse_authority_form(target);
  if (target == "*") {
    if (method != "OPTIONS") return std::nullopt;
    Target whole_server;
    whole_server.form = Target::Form::asterisk;
    whole_server.path = "*";
    return whole_server;
  }
  if (target.front() != '/') return parse_absolute_form(target);
  Target origin;
  split_path(origin, target);
  return origin;
}

bool is_ambiguous_path(std::string_view path) {
  std::optional<std::string> decoded = percent_decode(path, BrokenEscape::refuse);
  if (!decoded) return true;
  if (decoded->find('\\') != std::string::npos || decoded->find('\0') != std::string::npos) {
    return true;
  }
  // A gateway in front of a server decodes, and then the server does: "%252e%252e" passes both.
  constexpr int kMostDecodings = 3;
  for (int times = 1; !has_dot_segment(*decoded); ++times) {
    std::optional<std::string> next = percent_decode(*decoded, BrokenEscape::keep);
    if (times == kMostDecodings || next == decoded) return false;
    decoded = std::move(next);
  }
  return true;
}

}  // namespace warder
