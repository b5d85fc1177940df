#include "cli/check_command.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>

#include "cli/guard.hpp"
#include "cli/json_string.hpp"
#include "cli/policy_choice.hpp"
#include "config/lint.hpp"
#include "config/load.hpp"

namespace warder {
namespace {

struct Checked {
  std::vector<Finding> findings;
  std::size_t policies = 0;
  std::size_t rules = 0;
  std::size_t tests = 0;
  std::size_t failed() const {
    return static_cast<std::size_t>(std::count_if(
        findings.begin(), findings.end(), [](const Finding& one) { return one.is_error(); }));
  }
  std::size_t warnings() const { return findings.size() - failed(); }
};

Checked check(const Config& config, const std::string& policy) {
  if (!policy.empty()) (void)chosen_policy(config, policy);
  Checked out{lint(config, policy)};
  for (const PolicyConfig& one : config.policies) {
    if (!policy.empty() && one.name != policy) continue;
    ++out.policies;
    out.rules += one.rules.size();
    out.tests += one.tests.size();
  }
  return out;
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

std::string text_of(const Checked& checked, const std::string& file) {
  std::string out;
  for (const Finding& finding : checked.findings) {
    out += finding.where + (finding.is_error() ? ": error: " : ": warning: ") + finding.sentence +
           " [" + std::string(to_string(finding.kind)) + "]\n";
  }
  out += file + ": " + counted(checked.policies, "policy", "policies") + ", " +
         counted(checked.rules, "rule", "rules") + ", " + counted(checked.tests, "test", "tests");
  if (checked.tests > 0) out += " (" + std::to_string(checked.failed()) + " failed)";
  return out + ": " + counted(checked.warnings(), "warning", "warnings") + '\n';
}

std::string json_of(const Checked& checked, const std::string& file, int code) {
  namespace json = boost::json;
  json::array findings;
  for (const Finding& finding : checked.findings) {
    findings.emplace_back(json::object{{"kind", to_string(finding.kind)},
                                       {"level", finding.is_error() ? "error" : "warning"},
                                       {"where", json_string(finding.where)},
                                       {"message", json_string(finding.sentence)}});
  }
  const json::object out{{"file", json_string(file)},      {"ok", code == 0},
                         {"policies", checked.policies},   {"rules", checked.rules},
                         {"tests", checked.tests},         {"failed", checked.failed()},
                         {"warnings", checked.warnings()}, {"findings", std::move(findings)}};
  return json::serialize(out) + '\n';
}

int check_or_throw(const CheckArgs& args) {
  const Config config = load_config(args.config);
  const Checked checked = check(config, args.policy);
  const bool is_wrong =
      checked.failed() > 0 || (args.strict == Strict::yes && checked.warnings() > 0);
  const int code = is_wrong ? 1 : 0;
  const std::string file = args.config.string();
  const std::string text =
      args.json == Json::yes ? json_of(checked, file, code) : text_of(checked, file);
  std::fputs(text.c_str(), stdout);
  return code;
}

}  // namespace

int check_command(const CheckArgs& args) {
  return guarded([&] { return check_or_throw(args); });
}

}  // namespace warder
