// What `warder doctor` found: one entry for each check, in the order in which a run takes the steps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox-launcher/attempt.hpp"

namespace warder {

// needed: without it nothing runs. wished: without it a feature is missing, and all else works.
enum class Weight : std::uint8_t { needed, wished };

struct Meaning {
  std::string_view name;
  Weight weight;
  std::string_view what;  // what Warder has of it; of a wish, the feature that it costs
  std::string_view
      after;  // the check that must have gone well for this one to tell anything; may be empty
};

std::span<const Meaning> meanings();

struct Check {
  const Meaning* meaning = nullptr;
  Attempt attempt;
  std::string
      follows_from;  // the check that failed before, and with it this one; empty: its own failure
  std::string fix;   // commands; empty where all is well, or it follows from another
};

struct DoctorReport {
  std::vector<Check> checks;
  std::string executable;  // warder-sandbox, as a profile would name it
  double milliseconds = 0;

  bool works() const;  // nothing that is needed is missing
};

// Puts the attempts in order, says what each means, which follow from others, and what mends it.
DoctorReport make_report(std::vector<Attempt> attempts, const std::string& executable);

std::string text_of(const DoctorReport& report);
std::string json_of(const DoctorReport& report);

}  // namespace warder
