#include "cli/demo_checks.hpp"

#include <algorithm>
#include <sstream>

#include "cli/demo_script.hpp"
#include "http/message.hpp"

namespace warder {
namespace {

constexpr const char* kNothing = "(nothing)";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The view of the evidence that a step's checks need.
class Case {
 public:
  Case(const DemoEvidence& evidence, const DemoToken& token) : all(evidence), token(token) {}

  const CommandOutcome& command(std::string_view step) const {
    return all.commands.find(step)->second;
  }
  const std::string& output(std::string_view step) const { return command(step).output; }

  // The first request for `path`, or nullptr.
  const OriginRequest* request(std::string_view path) const {
    const auto found =
        std::find_if(all.requests.begin(), all.requests.end(),
                     [&](const OriginRequest& request) { return request.path == path; });
    return found == all.requests.end() ? nullptr : &*found;
  }

  bool origin_got_token(std::string_view path) const {
    const OriginRequest* got = request(path);
    return got != nullptr && got->token == token.value();
  }

  bool came_back_masked(std::string_view step) const {
    return command(step).exit_code == 0 && !all.placeholder.empty() &&
           has(output(step), all.placeholder) && !token.is_in(output(step));
  }

  bool refused(Reason reason, std::string_view what) const {
    return std::any_of(
        all.outcome.denials.begin(), all.outcome.denials.end(), [&](const Denial& denial) {
          return denial.reason == reason && has(denial.what, what) && !denial.suggestion.empty();
        });
  }

  template <class Condition>
  bool recorded(std::string_view type, Condition condition) const {
    return std::any_of(
        all.records.begin(), all.records.end(),
        [&](const audit::ParsedLine& record) { return record.type == type && condition(record); });
  }

  std::size_t count(std::string_view type) const {
    return static_cast<std::size_t>(
        std::count_if(all.records.begin(), all.records.end(),
                      [&](const audit::ParsedLine& record) { return record.type == type; }));
  }

  // No exchange went anywhere but to the demo's own origin.
  bool only_origin_was_dialled() const {
    return !recorded("receipt", [&](const audit::ParsedLine& receipt) {
      return receipt.text("upstream") != all.origin_address;
    });
  }

  bool let_through(std::string_view authority) const {
    return recorded("intent", [&](const audit::ParsedLine& intent) {
      return has(intent.text("authority"), authority) && intent.text("decision") != "deny";
    });
  }

  const DemoEvidence& all;
  const DemoToken& token;
};

DemoStep step_of(const Case& demo, std::string name, std::string title) {
  DemoStep step;
  step.name = std::move(name);
  step.title = std::move(title);
  for (const DemoCommand& command : demo_commands()) {
    if (command.step == step.name) step.command = command.text;
  }
  step.output = demo.output(step.name);
  return step;
}

// The head of what arrived at the origin for `path`, and what it wrote in answer.
std::string origin_side(const Case& demo, std::string_view path) {
  const OriginRequest* request = demo.request(path);
  if (request == nullptr) return kNothing;
  std::string text = request->head.substr(0, request->head.find('\n') + 1);
  text += "Authorization: Bearer " + request->token + "\n";
  for (const std::string& written : request->writes) {
    const char* lead = "> ";
    std::istringstream lines(written);
    for (std::string line; std::getline(lines, line); lead = "  ") {
      if (!line.empty()) text += lead + line + "\n";
    }
  }
  return text;
}

// Of what `curl -i` printed, in any version of HTTP.
bool has_status(const std::string& output, std::string_view status) {
  return output.starts_with("HTTP/") &&
         output.find(" " + std::string(status) + " ") == output.find(' ');
}

bool has_field(const std::string& output, std::string_view name, std::string_view value) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line) && line != "\r";) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos || !same_name(line.substr(0, colon), name)) continue;
    if (line.substr(colon + 2) == std::string(value) + "\r") return true;
  }
  return false;
}

DemoStep environment(const Case& demo) {
  DemoStep step = step_of(demo, "environment", "What the sandbox's environment holds");
  const std::string& placeholder = demo.all.placeholder;
  step.right_title = "outside the sandbox";
  step.origin = "the real token:\n" + std::string(kDemoSource) + "=" + demo.token.value() +
                "\nheld by the gateway, in locked memory";
  step.checks = {
      {std::string(kDemoVariable) + " holds a placeholder of the token's shape and length",
       placeholder.starts_with("ghp_") && placeholder.size() == demo.token.value().size() &&
           placeholder != demo.token.value()},
      {"the token is in no variable, argument or environment of any process inside",
       !demo.output("environment").empty() && !demo.token.is_in(demo.output("environment")) &&
           has(demo.output("processes"), placeholder) &&
           !demo.token.is_in(demo.output("processes"))}};
  return step;
}

DemoStep echo(const Case& demo) {
  DemoStep step = step_of(demo, "echo", "What the origin receives");
  step.origin = demo.request("/echo") != nullptr ? demo.request("/echo")->head : kNothing;
  step.checks = {
      {"the origin received the real token", demo.origin_got_token("/echo")},
      {"the request that it echoed came back with the placeholder", demo.came_back_masked("echo")}};
  return step;
}

DemoStep whoami(const Case& demo) {
  DemoStep step = step_of(demo, "whoami", "An origin that says the token out loud");
  step.origin = origin_side(demo, "/whoami");
  step.checks = {{"the origin received the real token", demo.origin_got_token("/whoami")},
                 {"its answer came back masked", demo.came_back_masked("whoami")}};
  return step;
}

DemoStep stream(const Case& demo) {
  DemoStep step = step_of(demo, "stream", "A stream that says it in two pieces");
  step.origin = origin_side(demo, "/stream");
  const OriginRequest* request = demo.request("/stream");
  const std::string expected =
      "data: good morning\n\ndata: you hold " + demo.all.placeholder + "\n\ndata: goodbye\n\n";
  step.checks = {
      {"the origin cut the token between two writes",
       request != nullptr && demo.origin_got_token("/stream") && request->writes.size() == 4 &&
           request->writes[1].ends_with(demo.token.value().substr(0, DemoOrigin::kCut))},
      {"the events came back masked, and nothing else in them changed",
       demo.came_back_masked("stream") && demo.output("stream") == expected}};
  return step;
}

DemoStep error_page(const Case& demo) {
  DemoStep step = step_of(demo, "error", "An error page that quotes it");
  step.origin = origin_side(demo, "/error");
  const std::string& output = step.output;
  step.checks = {{"the error came through as the origin's own",
                  has_status(output, "400") && demo.origin_got_token("/error")},
                 {"header and page are masked",
                  demo.came_back_masked("error") &&
                      has_field(output, "X-Rejected-Token", demo.all.placeholder) &&
                      has(output, "scope for " + demo.all.placeholder)}};
  return step;
}

DemoStep path(const Case& demo) {
  DemoStep step = step_of(demo, "path", "A path that is not allowed");
  step.origin = origin_side(demo, kDemoForbiddenPath);
  step.checks = {{"refused with a reason: 403, Warder-Reason: path_not_allowed",
                  has_status(step.output, "403") &&
                      has_field(step.output, "Warder-Reason", "path_not_allowed")},
                 {"the answer names the smallest change that would allow it",
                  has(step.output, "to allow it: ")},
                 {"nothing of it reached the origin",
                  demo.request(kDemoForbiddenPath) == nullptr &&
                      demo.refused(Reason::path_not_allowed, kDemoForbiddenPath)}};
  return step;
}

DemoStep address(const Case& demo) {
  DemoStep step = step_of(demo, "address", "A program that dials an address by itself");
  step.right_title = "the network sees";
  const bool passed = demo.let_through(kDemoAddress) || !demo.only_origin_was_dialled();
  step.origin = passed ? "a connection" : kNothing;
  step.checks = {{"caught without any proxy setting: 403, Warder-Reason: host_not_allowed",
                  has_status(step.output, "403") &&
                      has_field(step.output, "Warder-Reason", "host_not_allowed") &&
                      demo.refused(Reason::host_not_allowed, kDemoAddress)},
                 {"recorded as refused; nothing was dialled",
                  !passed && demo.recorded("intent", [](const audit::ParsedLine& intent) {
                    return intent.text("authority") == std::string("http://") + kDemoAddress &&
                           intent.text("decision") == "deny";
                  })}};
  return step;
}

DemoStep lookup(const Case& demo) {
  DemoStep step = step_of(demo, "lookup", "A look-up of a forbidden name");
  step.right_title = "the network sees";
  const bool answered = demo.recorded("dns", [](const audit::ParsedLine& query) {
    return query.text("name") == kDemoName && query.text("answer") != "NXDOMAIN";
  });
  const bool passed = demo.let_through(kDemoName) || !demo.only_origin_was_dialled();
  step.origin = passed ? "a query" : kNothing;
  step.output += step.output.empty() ? "(no such host: exit code " +
                                           std::to_string(demo.command("lookup").exit_code) + ")\n"
                                     : "";
  step.checks = {{"answered NXDOMAIN by the gateway itself; no packet was sent",
                  demo.command("lookup").exit_code == 2 && demo.output("lookup").empty() &&
                      !answered && !passed &&
                      demo.recorded("dns",
                                    [](const audit::ParsedLine& query) {
                                      return query.text("name") == kDemoName &&
                                             query.text("reason") == "name_not_allowed";
                                    })},
                 {"named in the summary with the flag that would allow it",
                  demo.refused(Reason::name_not_allowed, std::string("look-up of ") + kDemoName)}};
  return step;
}

std::string verdict_word(audit::Verification::Outcome outcome) {
  switch (outcome) {
    case audit::Verification::Outcome::intact: return "intact";
    case audit::Verification::Outcome::broken: return "broken";
    case audit::Verification::Outcome::unreadable: break;
  }
  return "unreadable";
}

std::string in_words(const audit::Verification& result) {
  std::string text = verdict_word(result.outcome) + ": " + std::to_string(result.records) +
                     " records, " + std::to_string(result.checkpoints) +
                     " signed checkpoints,\nthe last covers " + std::to_string(result.covered) +
                     "\n";
  if (!result.detail.empty()) text += result.detail + "\n";
  if (!result.root.empty()) text += "root of the tree:\n" + result.root + "\n";
  return text;
}

DemoStep record(const Case& demo) {
  const DemoEvidence& all = demo.all;
  DemoStep step;
  step.name = "audit";
  step.title = "The record of it all";
  step.left_title = "the signed record, verified";
  step.command = "warder audit verify";
  step.output = in_words(all.verification);
  step.right_title = "what it says";
  step.origin = std::to_string(demo.count("dns")) + " look-ups, " +
                std::to_string(demo.count("intent")) + " requests judged,\n" +
                std::to_string(demo.count("receipt")) + " let through; the origin counted " +
                std::to_string(all.requests.size()) + "\n";
  for (const std::string& leak : all.leaks) step.origin += leak + "\n";
  const bool intact = all.verification.outcome == audit::Verification::Outcome::intact;
  step.checks = {{"every record is there and intact, under a closing checkpoint",
                  intact && all.outcome.audit_whole && all.verification.closed &&
                      all.verification.open_intents == 0},
                 {"it has one receipt for each request that the origin received, and no other",
                  demo.only_origin_was_dialled() && demo.count("receipt") == all.requests.size() &&
                      !all.requests.empty()},
                 {"the token is in no file that the sandbox left and nowhere in the record (" +
                      std::to_string(all.files_searched) + " files searched)",
                  all.leaks.empty() && all.files_searched > 0 && !all.records.empty()}};
  return step;
}

}  // namespace

DemoReport check_demo(const DemoEvidence& evidence, const DemoToken& token) {
  const Case demo(evidence, token);
  DemoReport report;
  report.steps = {environment(demo), echo(demo),    whoami(demo), stream(demo), error_page(demo),
                  path(demo),        address(demo), lookup(demo), record(demo)};
  for (DemoStep& step : report.steps) {
    step.output = token.shorten(std::move(step.output));
    step.origin = token.shorten(std::move(step.origin));
  }
  report.outcome = evidence.outcome;
  for (Denial& denial : report.outcome.denials) denial.what = token.shorten(std::move(denial.what));
  report.audit = evidence.verification;
  report.placeholder = evidence.placeholder;
  report.shortened = token.shortened();
  return report;
}

}  // namespace warder
