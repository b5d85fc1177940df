// The rules asked one by one, as simply as it can be written: what the compiled policy is compared
// with. Shares the patterns of hosts and paths with it, and nothing else that decides.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "http/chars.hpp"
#include "policy/path_forms.hpp"
#include "policy/policy.hpp"
#include "policy/suggest.hpp"

namespace warder::test {

class NaivePolicy {
 public:
  explicit NaivePolicy(std::vector<Rule> rules) : rules_(std::move(rules)) {}

  Verdict authorize_connection(const Authority& to) const {
    for (const Rule& rule : rules_) {
      if (rule.action == Action::deny && is_blanket(rule) && has_host(rule, to.host) &&
          (rule.ports.empty() || has_port(rule, to.port)))
        return denied(rule, Reason::host_not_allowed);
    }
    bool named = false;
    bool raw = false;
    bool http = false;  // whatever the scheme
    const Rule* first = nullptr;
    const Rule* first_raw = nullptr;
    for (const Rule& rule : rules_) {
      if (rule.action == Action::deny || !has_host(rule, to.host)) continue;
      named = true;
      if (is_raw(rule.action)) {
        raw |= has_port(rule, to.port);
        if (first_raw == nullptr && has_port(rule, to.port)) first_raw = &rule;
        continue;
      }
      http |= rule.ports.empty() ? to.port == 80 || to.port == 443 : has_port(rule, to.port);
      if (first == nullptr && takes(rule, to)) first = &rule;
    }
    const Reason why = named ? Reason::port_not_allowed : Reason::host_not_allowed;
    if (to.scheme == Scheme::tcp) {
      if (raw) return allowed(*first_raw);
      return refused(why, http ? "" : suggest_host(to));
    }
    if (raw) return refused(Reason::port_not_allowed, "");
    return first != nullptr ? allowed(*first) : refused(why, suggest_host(to));
  }

  std::optional<Verdict> authorize_raw(const HostName& host, std::uint16_t port) const {
    for (const Rule& rule : rules_) {
      if (is_raw(rule.action) && has_port(rule, port) && has_host(rule, host))
        return authorize_connection({Scheme::tcp, host, port});
    }
    return std::nullopt;
  }

  Verdict authorize(const RequestFacts& request) const {
    const Authority& to = request.authority;
    const PathForms forms(request.path);
    const std::set<std::string> keys = all_keys(request.query);
    for (const Rule& rule : rules_) {
      if (denies(rule, request, forms, keys)) return denied(rule, names(rule));
    }
    for (const Rule& rule : rules_) {
      if (is_raw(rule.action) && has_port(rule, to.port) && has_host(rule, to.host))
        return refused(Reason::port_not_allowed, "");
    }
    bool host = false, port = false, method = false, path = false;
    bool both = false, query = false, headers = false;
    for (const Rule& rule : rules_) {
      if (rule.action == Action::deny || !has_host(rule, to.host)) continue;
      host = true;
      if (is_raw(rule.action) || !takes(rule, to)) continue;
      port = true;
      const bool method_fits = !is_odd(request.method) &&
                               (rule.methods.empty() || contains(rule.methods, request.method));
      const bool path_fits = rule.paths.empty() || any(rule.paths, [&](const PathPattern& one) {
                               return one.matches(request.path);
                             });
      method |= method_fits;
      path |= path_fits;
      if (!method_fits || !path_fits) continue;
      both = true;
      if (!rule.query.empty() && !only_listed(rule, request.query)) continue;
      query = true;
      if (!headers_fit(rule, request.fields)) continue;
      headers = true;
      if (rule.max_body && request.body_bytes && *request.body_bytes > *rule.max_body) continue;
      Verdict verdict = allowed(rule);
      if (rule.action == Action::ask) verdict.decision = Decision::ask;
      verdict.max_body = rule.max_body;
      return verdict;
    }
    const Reason why = !host             ? Reason::host_not_allowed
                       : !port           ? Reason::port_not_allowed
                       : headers         ? Reason::too_large
                       : query           ? Reason::header_not_allowed
                       : both            ? Reason::query_not_allowed
                       : path && !method ? Reason::method_not_allowed
                                         : Reason::path_not_allowed;
    if (is_odd(request.method)) return refused(port ? Reason::method_not_allowed : why, "");
    return refused(why, port ? suggest_request(request, why) : suggest_host(to));
  }

  Verdict authorize_name(const HostName& name) const {
    Verdict said;
    for (const Rule& rule : rules_) {
      if (rule.action == Action::deny || !has_host(rule, name)) continue;
      std::vector<std::uint16_t> ports = rule.ports;
      if (ports.empty()) ports = {443, 80};
      for (const std::uint16_t port : ports) {
        const Scheme scheme = is_raw(rule.action) ? Scheme::tcp
                              : port == 80        ? Scheme::http
                                                  : Scheme::https;
        const Verdict verdict = authorize_connection({scheme, name, port});
        if (verdict.allows()) return verdict;
        if (said.rule.empty()) said = verdict;
      }
    }
    if (said.rule.empty()) said = authorize_connection({Scheme::https, name, 443});
    said.reason = Reason::name_not_allowed;
    return said;
  }

  // Every key in every reading, made alike as policy/query_keys.hpp says.
  static std::set<std::string> all_keys(std::string query) {
    std::set<std::string> keys;
    for (int round = 0; round < 4; ++round) {
      for (const std::string& piece : split(query, "&;")) {
        const std::string key = piece.substr(0, piece.find('='));
        keys.insert(alike(key));
        keys.insert(alike(key.substr(0, key.find('['))));
      }
      query = decoded(query);
    }
    keys.erase("");
    return keys;
  }
  static std::set<std::string> all_keys(std::string_view query) {
    return all_keys(std::string(query));
  }

 private:
  template <class List, class Fits>
  static bool any(const List& list, Fits fits) {
    return std::any_of(list.begin(), list.end(), fits);
  }
  static bool contains(const std::vector<std::string>& list, std::string_view text) {
    return any(list, [&](const std::string& one) { return one == text; });
  }
  static bool has_host(const Rule& rule, const HostName& host) {
    return any(rule.hosts, [&](const HostPattern& one) { return one.matches(host); });
  }
  static bool has_port(const Rule& rule, std::uint16_t port) {
    return any(rule.ports, [&](std::uint16_t one) { return one == port; });
  }
  static bool takes(const Rule& rule, const Authority& to) {
    const bool odd = (to.port == 80 && to.scheme == Scheme::https) ||
                     (to.port == 443 && to.scheme == Scheme::http) || to.scheme == Scheme::tcp;
    if (odd) return false;
    return rule.ports.empty() ? to.port == 80 || to.port == 443 : has_port(rule, to.port);
  }
  static std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = to_lower(c);
    return out;
  }
  static bool is_odd(std::string_view method) {
    return lower(method) == "trace" || lower(method) == "connect";
  }
  static bool is_blanket(const Rule& rule) {
    const bool every_path = rule.paths.empty() || any(rule.paths, [](const PathPattern& path) {
                              return path.str() == "/**";
                            });
    return rule.methods.empty() && every_path && rule.query.empty() && rule.headers.empty();
  }
  static bool denies(const Rule& rule, const RequestFacts& request, const PathForms& forms,
                     const std::set<std::string>& keys) {
    if (rule.action != Action::deny || !has_host(rule, request.authority.host)) return false;
    if (!rule.ports.empty() && !has_port(rule, request.authority.port)) return false;
    if (!rule.methods.empty() && !any(rule.methods, [&](const std::string& one) {
          return lower(one) == lower(request.method);
        }))
      return false;
    if (!rule.paths.empty() && !any(rule.paths, [&](const PathPattern& one) {
          return one.matches(request.path) || one.matches_any(forms);
        }))
      return false;
    if (!rule.query.empty() && !any(rule.query, [&](const QueryKey& one) {
          std::string text = one.str();
          if (text.ends_with("[]")) text.resize(text.size() - 2);
          return keys.contains(alike(text));
        }))
      return false;
    return rule.headers.empty() || any(rule.headers, [&](const FieldMatch& one) {
             return request.fields != nullptr && any(*request.fields, [&](const HeaderField& f) {
                      return header_name(f.name) == header_name(one.name()) && hit(one, f.value);
                    });
           });
  }

  static std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool escape = text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
                          hex_value(text[i + 2]) >= 0;
      if (escape) {
        out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
        i += 2;
      } else {
        out += text[i];
      }
    }
    return out;
  }
  static std::vector<std::string> split(std::string_view text, std::string_view at) {
    std::vector<std::string> out(1);
    for (const char c : text) {
      if (at.find(c) != std::string_view::npos)
        out.emplace_back();
      else
        out.back() += c;
    }
    std::erase(out, "");
    return out;
  }
  static std::string alike(std::string key) {
    if (const auto nul = key.find('\0'); nul != std::string::npos) key.resize(nul);
    const std::string blanks = [] {
      std::string all = "+?\x7f";
      for (char c = 0; c <= ' '; ++c) all += c;
      return all;
    }();
    const auto begin = key.find_first_not_of(blanks);
    if (begin == std::string::npos) return "";
    key = key.substr(begin, key.find_last_not_of(blanks) - begin + 1);
    for (char& c : key) c = c == ' ' || c == '+' || c == '.' ? '_' : to_lower(c);
    return key;
  }
  static bool only_listed(const Rule& rule, std::string_view query) {
    for (const std::string& piece : split(query, "&;")) {
      const std::string key = decoded(piece.substr(0, piece.find('=')));
      if (!any(rule.query, [&](const QueryKey& one) { return one.str() == key; })) return false;
    }
    return true;
  }

  static std::string header_name(std::string_view name) {
    std::string out = lower(name);
    std::replace(out.begin(), out.end(), '_', '-');
    return out;
  }
  // Recursive, with `stop` as what a star does not cross ('\0': nothing).
  static bool glob(std::string_view pattern, std::string_view text, char stop) {
    if (pattern.empty()) return text.empty();
    if (pattern[0] != '*')
      return !text.empty() && text[0] == pattern[0] &&
             glob(pattern.substr(1), text.substr(1), stop);
    if (glob(pattern.substr(1), text, stop)) return true;
    return !text.empty() && text[0] != stop && glob(pattern, text.substr(1), stop);
  }
  static std::vector<std::string> members(std::string_view value) {
    std::vector<std::string> out;
    for (const std::string& one : split(value, ",")) {
      const std::string_view member = trim(one);
      if (!member.empty()) out.emplace_back(member);
    }
    return out;
  }
  static bool hit(const FieldMatch& field, std::string_view sent) {
    std::vector<std::string> values = members(lower(sent));
    values.push_back(lower(sent));
    for (const std::string& value : std::vector<std::string>(values)) {
      if (value.size() > 1 && value.front() == '"' && value.back() == '"')
        values.push_back(value.substr(1, value.size() - 2));
    }
    return any(field.values(), [&](const ValuePattern& pattern) {
      return any(values,
                 [&](const std::string& value) { return glob(lower(pattern.str()), value, '\0'); });
    });
  }
  static bool headers_fit(const Rule& rule, const HeaderList* fields) {
    const HeaderList none;
    if (fields == nullptr) fields = &none;
    return std::all_of(rule.headers.begin(), rule.headers.end(), [&](const FieldMatch& field) {
      const auto fits = [&](std::string_view value) {
        return any(field.values(), [&](const ValuePattern& pattern) {
          return pattern.str() == "*" || glob(pattern.str(), value, ',');
        });
      };
      bool there = false;
      for (const HeaderField& one : *fields) {
        if (lower(one.name) == "connection" && any(members(one.value), [&](const auto& named) {
              return lower(named) == field.name();
            }))
          return false;
        if (header_name(one.name) != header_name(field.name())) continue;
        there |= lower(one.name) == field.name();
        const std::vector<std::string> list = members(one.value);
        if (!fits(one.value) && (list.empty() || !std::all_of(list.begin(), list.end(), fits)))
          return false;
      }
      return there;
    });
  }

  static Verdict allowed(const Rule& rule) {
    Verdict verdict;
    verdict.decision = Decision::allow;
    verdict.reason = Reason::none;
    verdict.rule = rule.name;
    verdict.where = rule.where;
    verdict.allow_private = rule.allow_private;
    if (rule.action == Action::tunnel) verdict.handling = Handling::tunnel;
    if (rule.action == Action::tcp) verdict.handling = Handling::raw;
    return verdict;
  }
  static Verdict denied(const Rule& rule, Reason why) {
    Verdict verdict = refused(why, suggest_narrower(rule));
    verdict.rule = rule.name;
    verdict.where = rule.where;
    return verdict;
  }
  static Verdict refused(Reason why, std::string suggestion) {
    Verdict verdict;
    verdict.reason = why;
    verdict.suggestion = std::move(suggestion);
    return verdict;
  }
  static Reason names(const Rule& rule) {
    return !rule.headers.empty()   ? Reason::header_not_allowed
           : !rule.query.empty()   ? Reason::query_not_allowed
           : !rule.paths.empty()   ? Reason::path_not_allowed
           : !rule.methods.empty() ? Reason::method_not_allowed
                                   : Reason::host_not_allowed;
  }

  std::vector<Rule> rules_;
};

}  // namespace warder::test
