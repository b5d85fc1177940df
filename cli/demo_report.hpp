// What the demo found, ready to be shown: by demo_page() to a person, by demo_json() to a program.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "audit/verify.hpp"
#include "cli/sandboxed_run.hpp"

namespace warder {

struct DemoCheck {
  std::string claim;
  bool held = false;
};

struct DemoStep {
  std::string name;   // "whoami"
  std::string title;  // "An origin that says the token"
  std::string left_title = "the sandbox sees";
  std::string command;
  std::string output;  // in the sandbox
  std::string right_title = "the origin sees";
  std::string origin;
  std::vector<DemoCheck> checks;

  bool ok() const {
    return !checks.empty() && std::all_of(checks.begin(), checks.end(),
                                          [](const DemoCheck& check) { return check.held; });
  }
};

// Holds no value of a secret: every text was shortened where it had one.
struct DemoReport {
  std::vector<DemoStep> steps;
  RunOutcome outcome;
  audit::Verification audit;
  std::string placeholder;
  std::string shortened;  // the form in which the value is shown: "ghp_k3J…"

  bool ok() const {
    return !steps.empty() &&
           std::all_of(steps.begin(), steps.end(), [](const DemoStep& step) { return step.ok(); });
  }
};

}  // namespace warder
