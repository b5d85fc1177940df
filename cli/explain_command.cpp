#include "cli/explain_command.hpp"

#include <cstdio>

#include "cli/explain_report.hpp"
#include "cli/guard.hpp"
#include "cli/policy_choice.hpp"
#include "config/load.hpp"
#include "policy/address_range.hpp"
#include "policy/host_service.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

SupposedRequest question_of(const ExplainArgs& args) {
  auto read = read_supposed_request(args.url, args.method);
  if (const auto* sentence = std::get_if<std::string>(&read)) throw ConfigError(*sentence);
  SupposedRequest question = std::get<SupposedRequest>(std::move(read));
  for (const std::string& header : args.headers) {
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos)
      throw ConfigError("-H " + in_quotes(header) + " has no colon: write 'Name: value'");
    const std::string wrong =
        add_field(question, header.substr(0, colon), header.substr(colon + 1));
    if (!wrong.empty()) throw ConfigError(wrong);
  }
  question.body_bytes = args.body_size;
  return question;
}

std::string address_check(const HostName& host, bool allow_private) {
  if (is_host_service(host))
    return "address: the loopback of the machine that the gateway runs on (127.0.0.1, then ::1); "
           "no "
           "port on which Warder itself listens";
  const std::optional<IpAddress> address = address_of(host);
  const auto allowed = allow_private ? PrivateAddresses::allowed : PrivateAddresses::refused;
  if (address && may_dial(*address, allowed)) return "address: this one may be dialled";
  if (address) {
    const bool is_private = classify(*address) == AddressClass::private_use;
    return std::string("address: this one is refused when it is dialled (address_not_allowed): ") +
           (is_private ? "it is private, and the rule does not say allow_private"
                       : "loopback, link-local, metadata and other special addresses always are");
  }
  return "address: whatever the name resolves to is checked at every dial: public addresses" +
         std::string(allow_private ? ", and private ones (allow_private)"
                                   : ", and no private ones (RFC 1918, RFC 4193)") +
         "; never loopback, link-local or metadata";
}

std::vector<std::string> checks_of(const Authority& authority, const Verdict& verdict,
                                   const UpstreamConfig& upstream) {
  std::vector<std::string> out;
  if (verdict.decision == Decision::ask)
    out.push_back("approval: the request is held until somebody says yes to it");
  if (verdict.handling == Handling::tunnel)
    out.push_back(
        "tunnel: TLS end to end, not inspected, no secret is swapped; it must begin with "
        "a TLS hello for " +
        authority.host.str());
  if (verdict.handling == Handling::raw)
    out.push_back("tcp: any bytes, not inspected, no secret is swapped");
  const auto mapped = upstream.connect_to.find(authority.host_port());
  if (mapped != upstream.connect_to.end()) {
    out.push_back("address: dialled at " + mapped->second +
                  " (gateway.upstream.connect_to), which is not checked");
  } else {
    out.push_back(address_check(authority.host, verdict.allow_private));
  }
  if (verdict.max_body)
    out.push_back("body: at most " + std::to_string(*verdict.max_body) +
                  " bytes, and cut off there (too_large)");
  return out;
}

ExplainReport report_of(const SupposedRequest& question, const PolicyConfig& policy,
                        const UpstreamConfig& upstream, const Policy& compiled) {
  ExplainReport report{policy.name, &question, {}};
  if (!question.malformed.empty()) {
    report.explanation.verdict.reason = Reason::malformed_request;
    return report;
  }
  report.explanation = explain(compiled, question.facts());
  const Verdict& verdict = report.explanation.verdict;
  if (verdict.decision == Decision::deny) return report;
  report.checks = checks_of(*question.authority, verdict, upstream);
  for (std::size_t i = 0; i < kLimits; ++i) {
    const auto limit = static_cast<Limit>(i);
    if (const auto value = policy.limits.find(limit))
      report.checks.push_back("limit: " + std::string(to_string(limit)) + " " +
                              text_of(limit, *value));
  }
  if (verdict.handling == Handling::inspect)
    report.grants = grants_at(policy, *question.authority, question.path);
  return report;
}

int explain_or_throw(const ExplainArgs& args) {
  const Config config = load_config(args.config);
  const PolicyConfig& policy = chosen_policy(config, args.policy);
  const SupposedRequest question = question_of(args);
  const Policy compiled(policy.name, policy.rules);
  const ExplainReport report = report_of(question, policy, config.gateway.upstream, compiled);
  const std::string text = args.json == Json::yes ? explain_json(report) : explain_text(report);
  std::fputs(text.c_str(), stdout);
  return report.explanation.verdict.decision == Decision::deny ? 1 : 0;
}

}  // namespace

int explain_command(const ExplainArgs& args) {
  return guarded([&] { return explain_or_throw(args); });
}

}  // namespace warder
