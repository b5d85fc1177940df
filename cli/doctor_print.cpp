// A doctor's report for people, and for programs (docs/doctor.md).
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstring>
#include <sstream>

#include "cli/doctor_report.hpp"
#include "cli/json_string.hpp"

namespace warder {
namespace {

namespace json = boost::json;

constexpr std::size_t kStateWidth = 10;
constexpr std::size_t kNameWidth = 23;
constexpr const char* kIndent = "          ";

std::string padded(std::string text, std::size_t width) {
  text.append(text.size() < width ? width - text.size() : 1, ' ');
  return text;
}

std::string error_name(int error) {
  const char* name = error > 0 ? ::strerrorname_np(error) : nullptr;
  return name != nullptr ? name : "";
}

bool is_wish(const Check& check) { return check.meaning->weight == Weight::wished; }

std::string explained(const Check& check) {
  const std::string error = error_name(check.attempt.error);
  const std::string_view why = remedy(check.attempt.cause).why;
  std::string out = (error.empty() ? "" : error + ": ") + check.attempt.said;
  if (!why.empty()) out += ": " + std::string(why);
  out += is_wish(check) ? "; only wished for, without it not: " : "; it is for: ";
  return out + std::string(check.meaning->what);
}

std::string line_of(const Check& check) {
  const Attempt& attempt = check.attempt;
  std::string out = padded(std::string(to_string(attempt.outcome)), kStateWidth) +
                    padded(attempt.name, kNameWidth);
  if (attempt.outcome == Outcome::ok) {
    out += check.meaning->what;
    if (!attempt.said.empty()) out += " (" + attempt.said + ")";
    if (attempt.name == "run")
      out += " (" + std::to_string(std::lround(attempt.milliseconds)) + " ms)";
  } else if (!check.follows_from.empty()) {
    out += "follows from " + check.follows_from + "; " +
           (is_wish(check) ? "only wished for: " : "") + std::string(check.meaning->what);
  } else {
    out += explained(check);
  }
  out += '\n';
  std::istringstream fixes(check.fix);
  for (std::string fix; std::getline(fixes, fix);) out += kIndent + fix + '\n';
  return out;
}

std::string summary(const DoctorReport& report) {
  std::size_t missing = 0;
  std::size_t wishes = 0;
  for (const Check& check : report.checks) {
    if (check.attempt.outcome == Outcome::ok) continue;
    (is_wish(check) ? wishes : missing) += 1;
  }
  std::string out = report.works() ? std::string("warder run works here")
                                   : "warder run does not work here: " + std::to_string(missing) +
                                         " of what it needs is missing";
  if (wishes > 0) out += "; " + std::to_string(wishes) + " of what is only wished for is missing";
  return out + " (" + std::to_string(std::lround(report.milliseconds)) + " ms)\n";
}

json::value or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return json_string(text);
}

json::object json_of(const Check& check) {
  const Attempt& attempt = check.attempt;
  const bool well = attempt.outcome == Outcome::ok;
  return {{"name", attempt.name},
          {"state", to_string(attempt.outcome)},
          {"needed", !is_wish(check)},
          {"for", check.meaning->what},
          {"errno", or_null(error_name(attempt.error))},
          {"said", or_null(attempt.said)},
          {"cause", well ? json::value(nullptr) : json::value(remedy(attempt.cause).name)},
          {"why", well ? json::value(nullptr) : or_null(std::string(remedy(attempt.cause).why))},
          {"follows_from", or_null(check.follows_from)},
          {"fix", or_null(check.fix)},
          {"milliseconds", std::round(attempt.milliseconds * 10) / 10}};
}

}  // namespace

std::string text_of(const DoctorReport& report) {
  std::string out;
  for (const Check& check : report.checks) out += line_of(check);
  return out + summary(report);
}

std::string json_of(const DoctorReport& report) {
  json::array checks;
  for (const Check& check : report.checks) checks.push_back(json_of(check));
  return json::serialize(json::object{{"version", 1},
                                      {"works", report.works()},
                                      {"milliseconds", std::lround(report.milliseconds)},
                                      {"checks", std::move(checks)}}) +
         '\n';
}

}  // namespace warder
