#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "cli/explain_report.hpp"
#include "cli/json_string.hpp"

namespace warder {
namespace {

namespace json = boost::json;

json::object to_object(const Rule& rule) {
  return {{"name", rule.name}, {"where", rule.where}, {"action", to_string(rule.action)}};
}

json::array places_of(const std::vector<Place>& at) {
  json::array out;
  for (const Place& place : at) out.emplace_back(place.str());
  return out;
}

json::object to_object(const NearMiss& miss) {
  json::object out = to_object(*miss.rule);
  json::array lacks;
  for (const Part part : miss.lacks) lacks.emplace_back(to_string(part));
  out["lacks"] = std::move(lacks);
  return out;
}

json::object to_object(const Grant& grant) {
  return {{"secret", grant.secret},
          {"where", grant.where},
          {"at", places_of(grant.at)},
          {"foreign", to_string(grant.foreign)},
          {"max", grant.max}};
}

json::object to_object(const GrantsAt& grants, bool is_swapped) {
  json::array secrets;
  json::array only_by_tls;
  json::array captured;
  json::array returned;
  if (is_swapped) {
    for (const Grant* grant : grants.secrets) secrets.emplace_back(to_object(*grant));
    for (const Grant* grant : grants.only_by_tls) only_by_tls.emplace_back(to_object(*grant));
    for (const Capture* capture : grants.captured) {
      captured.emplace_back(json::object{
          {"capture", capture->name}, {"where", capture->where}, {"at", places_of(capture->at)}});
    }
    for (const Capture* capture : grants.returned) {
      returned.emplace_back(json::object{{"capture", capture->name}, {"where", capture->where}});
    }
  }
  json::object out{{"secrets", std::move(secrets)},
                   {"only_by_tls", std::move(only_by_tls)},
                   {"captured", std::move(captured)},
                   {"returned", std::move(returned)}};
  if (grants.certificate != nullptr) out["client_certificate"] = grants.certificate->where;
  if (grants.capture != nullptr) {
    json::array fields(grants.capture->fields.begin(), grants.capture->fields.end());
    out["captures"] = json::object{{"name", grants.capture->name},
                                   {"where", grants.capture->where},
                                   {"fields", std::move(fields)}};
  }
  return out;
}

}  // namespace

std::string explain_json(const ExplainReport& report) {
  const Explanation& explanation = report.explanation;
  const Verdict& verdict = explanation.verdict;
  json::object out{{"policy", report.policy},
                   {"url", json_string(report.question->url)},
                   {"method", report.question->method},
                   {"verdict", to_string(outcome_of(verdict))},
                   {"reason", to_string(verdict.reason)},
                   {"rule", nullptr}};
  if (explanation.deciding != nullptr) out["rule"] = to_object(*explanation.deciding);
  if (!report.question->malformed.empty()) out["detail"] = report.question->malformed;
  if (!verdict.suggestion.empty()) out["allow_with"] = json_string(verdict.suggestion);
  json::array near;
  for (const NearMiss& miss : explanation.near) near.emplace_back(to_object(miss));
  json::array overruled;
  for (const Rule* rule : explanation.overruled) overruled.emplace_back(to_object(*rule));
  json::array checks(report.checks.begin(), report.checks.end());
  out["near"] = std::move(near);
  out["more_near"] = explanation.more_near;
  out["overruled"] = std::move(overruled);
  if (report.grants)
    out["grants"] = to_object(*report.grants, report.question->method != "OPTIONS");
  out["checks"] = std::move(checks);
  return json::serialize(out) + '\n';
}

}  // namespace warder
