#include "cli/explain_report.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

template <class List, class Text>
std::string joined(const List& items, std::string_view between, Text text) {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out += between;
    out += text(item);
  }
  return out;
}

std::string named(const Rule& rule) {
  return rule.name + " (" + rule.where + ", " + std::string(to_string(rule.action)) + ')';
}

// What the rule has where the request has something else.
std::string wanted(const Rule& rule, Part part) {
  const auto list = [](const auto& items, auto text) {
    return " (" + joined(items, ", ", text) + ')';
  };
  switch (part) {
    case Part::host: return list(rule.hosts, [](const HostPattern& host) { return host.str(); });
    case Part::port:
      if (rule.ports.empty()) return " (443, 80)";
      return list(rule.ports, [](std::uint16_t port) { return std::to_string(port); });
    case Part::scheme:
      if (is_raw(rule.action)) return " (it passes the port on uninspected)";
      return " (443 is TLS, 80 is clear text)";
    case Part::method:
      if (rule.methods.empty()) return " (TRACE and CONNECT never are)";
      return list(rule.methods, [](const std::string& method) { return method; });
    case Part::path: return list(rule.paths, [](const PathPattern& path) { return path.str(); });
    case Part::query:
      return list(rule.query, [](const QueryKey& key) { return in_quotes(key.str()); });
    case Part::headers:
      return list(rule.headers, [](const FieldMatch& field) { return field.name(); });
    case Part::body:
      return rule.max_body ? " (up to " + std::to_string(*rule.max_body) + " bytes)" : "";
  }
  return "";
}

std::string verdict_lines(const SupposedRequest& question, const Explanation& explanation) {
  const Verdict& verdict = explanation.verdict;
  const std::string by =
      verdict.rule.empty() ? "" : " by rule " + verdict.rule + " (" + verdict.where + ')';
  if (verdict.decision != Decision::deny)
    return std::string(to_string(outcome_of(verdict))) + by + '\n';
  const ReasonInfo& reason = info(verdict.reason);
  // With a rule that decides, "no rule allows it" would be beside the point.
  std::string out = "deny" + by + ": " + std::string(reason.word);
  if (verdict.rule.empty()) out += ", " + std::string(reason.phrase);
  out += '\n';
  if (!question.malformed.empty())
    out += "  before any rule is asked: " + question.malformed + '\n';
  if (!verdict.suggestion.empty()) out += "  to allow it: " + verdict.suggestion + '\n';
  return out;
}

std::string rule_lines(const Explanation& explanation) {
  std::string out;
  if (!explanation.overruled.empty()) {
    const bool by_deny =
        explanation.deciding != nullptr && explanation.deciding->action == Action::deny;
    out += by_deny ? "match as well, but a deny wins:\n"
                   : "match as well, but the first match decides:\n";
    for (const Rule* rule : explanation.overruled) out += "  " + named(*rule) + '\n';
  }
  if (explanation.near.empty()) return out;
  out += "nearly match:\n";
  for (const NearMiss& miss : explanation.near) {
    out +=
        "  " + named(*miss.rule) + ", but not its " +
        joined(miss.lacks, ", nor its ",
               [&](Part part) { return std::string(to_string(part)) + wanted(*miss.rule, part); }) +
        '\n';
  }
  if (explanation.more_near > 0)
    out += "  and " + std::to_string(explanation.more_near) + " more that are farther\n";
  return out;
}

std::string places_of(const std::vector<Place>& at) {
  return joined(at, ", ", [](const Place& place) { return place.str(); });
}

std::string foreign_of(const Grant& grant) {
  switch (grant.foreign) {
    case Grant::Foreign::refuse: return "refused";
    case Grant::Foreign::strip: return "taken off";
    case Grant::Foreign::pass: return "passed on";
  }
  return "";
}

std::string secret_lines(const SupposedRequest& question, const GrantsAt& grants) {
  if (question.method == "OPTIONS")
    return "secrets: none, because nothing is swapped in a request of OPTIONS\n";
  std::string out;
  for (const Grant* grant : grants.secrets) {
    out += "  " + grant->secret + " (" + grant->where + ") in " + places_of(grant->at) + "; " +
           (grant->max == 1 ? "once" : "up to " + std::to_string(grant->max) + " times") +
           "; a credential of the sandbox's own is " + foreign_of(*grant) + '\n';
  }
  for (const Capture* capture : grants.captured) {
    out += "  what " + capture->name + " captured (" + capture->where + ") in " +
           places_of(capture->at) + '\n';
  }
  for (const Capture* capture : grants.returned) {
    out += "  what " + capture->name + " captured (" + capture->where +
           ") in the body, to be refreshed or revoked\n";
  }
  for (const Grant* grant : grants.only_by_tls)
    out += "  " + grant->secret + " (" + grant->where + ") not: it is clear text\n";
  if (grants.certificate != nullptr)
    out +=
        "  a client certificate (" + grants.certificate->where + ") if the origin asks for one\n";
  if (grants.capture != nullptr)
    out += "  the tokens of the answer stay outside (" + grants.capture->where + "): " +
           joined(grants.capture->fields, ", ", [](const std::string& field) { return field; }) +
           '\n';
  return out.empty() ? "secrets: no grant names this host\n" : "secrets:\n" + out;
}

}  // namespace

std::string explain_text(const ExplainReport& report) {
  const SupposedRequest& question = *report.question;
  const bool is_raw = question.authority && question.authority->scheme == Scheme::tcp;
  std::string out = (is_raw ? "" : question.method + ' ') + in_quotes(question.url) +
                    " under policy " + report.policy + '\n' +
                    verdict_lines(question, report.explanation) + rule_lines(report.explanation);
  if (report.grants) out += secret_lines(question, *report.grants);
  if (!report.checks.empty()) out += "then:\n";
  for (const std::string& check : report.checks) out += "  " + check + '\n';
  return out;
}

}  // namespace warder
