// What `warder explain` found, for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/grants_at.hpp"
#include "policy/explain.hpp"

namespace warder {

struct ExplainReport {
  std::string policy;
  const SupposedRequest* question;
  Explanation explanation;
  std::optional<GrantsAt> grants{};   // where the request would be let pass, inspected
  std::vector<std::string> checks{};  // what follows then, a sentence each
};

std::string explain_text(const ExplainReport& report);
std::string explain_json(const ExplainReport& report);

}  // namespace warder
