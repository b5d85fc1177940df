#include "policy/rule_match.hpp"

#include <algorithm>

#include "http/chars.hpp"

namespace warder {
namespace {

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return to_lower(x) == to_lower(y); });
}

bool names_every_path(const Rule& rule) {
  return rule.paths.empty() || std::any_of(rule.paths.begin(), rule.paths.end(),
                                           [](const PathPattern& path) { return path.is_any(); });
}

bool allows_path(const Rule& rule, std::string_view path) {
  return names_every_path(rule) ||
         std::any_of(rule.paths.begin(), rule.paths.end(),
                     [&](const PathPattern& pattern) { return pattern.matches(path); });
}

bool allows_headers(const Rule& rule, const HeaderList* fields) {
  if (rule.headers.empty()) return true;
  return fields != nullptr &&
         std::all_of(rule.headers.begin(), rule.headers.end(),
                     [&](const FieldMatch& field) { return field.allows(*fields); });
}

// Some servers take "delete" for DELETE, so a deny does too.
bool denies_method(const Rule& rule, std::string_view method) {
  return rule.methods.empty() ||
         std::any_of(rule.methods.begin(), rule.methods.end(),
                     [&](const std::string& listed) { return same_letters(listed, method); });
}

bool denies_path(const Rule& rule, AskedRequest& request) {
  return names_every_path(rule) ||
         std::any_of(rule.paths.begin(), rule.paths.end(), [&](const PathPattern& pattern) {
           return pattern.matches(request->path) || pattern.matches_any(request.path_forms());
         });
}

bool denies_query(const Rule& rule, AskedRequest& request) {
  if (rule.query.empty()) return true;
  return !request->query.empty() && request.all_keys().has_any(rule.query);
}

bool denies_headers(const Rule& rule, const HeaderList* fields) {
  if (rule.headers.empty()) return true;
  return fields != nullptr &&
         std::any_of(rule.headers.begin(), rule.headers.end(),
                     [&](const FieldMatch& field) { return field.denies(*fields); });
}

}  // namespace

const PathForms& AskedRequest::path_forms() {
  if (!path_forms_) path_forms_.emplace(facts_.path);
  return *path_forms_;
}

const AllKeys& AskedRequest::all_keys() {
  if (!all_keys_) all_keys_.emplace(facts_.query);
  return *all_keys_;
}

bool lists_port(const Rule& rule, std::uint16_t port) {
  return std::find(rule.ports.begin(), rule.ports.end(), port) != rule.ports.end();
}

bool allows_port(const Rule& rule, const Authority& authority) {
  if (authority.scheme == Scheme::tcp) return false;
  if (authority.port == 80 && authority.scheme != Scheme::http) return false;
  if (authority.port == 443 && authority.scheme != Scheme::https) return false;
  if (rule.ports.empty()) return authority.port == 80 || authority.port == 443;
  return lists_port(rule, authority.port);
}

bool is_never_allowed(std::string_view method) {
  return same_letters(method, "TRACE") || same_letters(method, "CONNECT");
}

bool allows_method(const Rule& rule, std::string_view method) {
  if (is_never_allowed(method)) return false;
  return rule.methods.empty() ||
         std::find(rule.methods.begin(), rule.methods.end(), method) != rule.methods.end();
}

Fit fit_of(const Rule& rule, const RequestFacts& request) {
  Fit fit;
  fit.method = allows_method(rule, request.method);
  fit.path = allows_path(rule, request.path);
  if (!fit.method || !fit.path) return fit;
  fit.query = rule.query.empty() || has_only_keys(request.query, rule.query);
  fit.headers = fit.query && allows_headers(rule, request.fields);
  // What is not known yet is counted as it passes (Verdict::max_body).
  fit.body = fit.headers && (!rule.max_body || request.body_bytes.value_or(0) <= *rule.max_body);
  return fit;
}

bool is_blanket_deny(const Rule& rule) {
  return rule.action == Action::deny && rule.methods.empty() && names_every_path(rule) &&
         rule.query.empty() && rule.headers.empty();
}

// A deny without ports means the host, whatever the port: the narrow reading would leave 8443 open.
bool denies_port(const Rule& rule, std::uint16_t port) {
  return rule.ports.empty() || lists_port(rule, port);
}

bool denies(const Rule& rule, AskedRequest& request) {
  return rule.action == Action::deny && denies_port(rule, request->authority.port) &&
         denies_method(rule, request->method) && denies_path(rule, request) &&
         denies_query(rule, request) && denies_headers(rule, request->fields);
}

Reason what_it_names(const Rule& rule) {
  if (!rule.headers.empty()) return Reason::header_not_allowed;
  if (!rule.query.empty()) return Reason::query_not_allowed;
  if (!rule.paths.empty()) return Reason::path_not_allowed;
  if (!rule.methods.empty()) return Reason::method_not_allowed;
  return Reason::host_not_allowed;
}

}  // namespace warder
