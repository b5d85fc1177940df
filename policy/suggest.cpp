#include "policy/suggest.hpp"

#include <algorithm>

#include "http/chars.hpp"
#include "policy/host_service.hpp"
#include "policy/path_forms.hpp"
#include "policy/query_keys.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

constexpr std::size_t kMaxPath = 200;

bool is_usual_port(const Authority& authority) {
  return authority.port == (authority.scheme == Scheme::http ? 80 : 443);
}

bool fits_pattern(std::string_view pattern, std::string_view path) {
  const auto parsed = PathPattern::parse(pattern);
  const auto* good = std::get_if<PathPattern>(&parsed);
  return good != nullptr && good->matches(path);
}

// A pattern that matches the path and as little else as a pattern can say.
std::string pattern_for(std::string_view path) {
  if (path.size() > kMaxPath) {
    const std::string_view parent = path.substr(0, path.rfind('/', kMaxPath));
    const std::string below = std::string(parent) + "/**";
    return fits_pattern(below, path) ? below : "/**";
  }
  if (fits_pattern(path, path)) return std::string(path);
  std::string out;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string_view segment = path.substr(at, end - at);
    out += fits_pattern(segment, segment) ? segment : "/*";
    at = end;
  }
  return fits_pattern(out, path) ? out : "/**";
}

// What the config takes as a method.
bool is_plain_method(std::string_view method) {
  return !method.empty() && method.size() <= 32 &&
         std::all_of(method.begin(), method.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_';
         });
}

std::string yaml_host(const HostName& host) {
  return host.kind() == HostName::Kind::ipv6 ? yaml_quoted(host.str()) : host.str();
}

// TCP 53 is answered as DNS, whatever a rule says.
std::string suggest_tcp(const Authority& authority) {
  if (authority.port == kDnsPort) return "";
  return "add {hosts: [" + yaml_host(authority.host) + "], ports: [" +
         std::to_string(authority.port) + "], action: tcp}";
}

// `, query: ["page"]`; empty where its keys cannot be listed.
std::string query_for(std::string_view query) {
  std::vector<QueryKey> keys;
  if (query.size() > kMaxPath) return "";
  std::string out;
  for (std::string_view rest = query; !rest.empty();) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view sent = rest.substr(0, std::min(rest.find('='), end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    auto parsed = QueryKey::parse(decode_escapes(sent, EscapedSlash::slash));
    const auto* key = std::get_if<QueryKey>(&parsed);
    if (key == nullptr || std::find(keys.begin(), keys.end(), *key) != keys.end()) continue;
    out += (out.empty() ? "" : ", ") + yaml_quoted(key->str());
    keys.push_back(*key);
  }
  return has_only_keys(query, keys) ? ", query: [" + out + ']' : "";
}

}  // namespace

std::string suggest_host(const Authority& authority) {
  if (is_host_service(authority.host) && authority.port != kDnsPort) {
    const bool known = authority.scheme == Scheme::tcp || !is_usual_port(authority);
    return "--allow " + std::string(kHostServiceName) + ':' +
           (known ? std::to_string(authority.port) : "PORT");
  }
  const bool wrong_scheme = (authority.port == 80 && authority.scheme != Scheme::http) ||
                            (authority.port == 443 && authority.scheme != Scheme::https);
  if (authority.scheme == Scheme::tcp) return suggest_tcp(authority);
  if (wrong_scheme) return "";
  return "--allow " +
         (is_usual_port(authority) ? authority.host.uri_host() : authority.host_port());
}

std::string suggest_request(const RequestFacts& request, Reason lacking) {
  const Authority& authority = request.authority;
  std::string out = "add {hosts: [" + yaml_host(authority.host) + ']';
  if (!is_usual_port(authority) || is_host_service(authority.host))
    out += ", ports: [" + std::to_string(authority.port) + ']';
  if (is_plain_method(request.method)) out += ", methods: [" + std::string(request.method) + ']';
  if (request.path.starts_with('/'))
    out += ", paths: [" + yaml_quoted(pattern_for(request.path)) + ']';
  if (lacking == Reason::query_not_allowed) out += query_for(request.query);
  if (lacking == Reason::too_large && request.body_bytes)
    out += ", max_body: " + std::to_string(*request.body_bytes);
  return out + ", action: allow}";
}

std::string suggest_narrower(const Rule& rule) {
  return "narrow or remove the deny rule " + in_quotes(rule.name) + " (" + rule.where + ')';
}

}  // namespace warder
