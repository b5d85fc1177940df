// Warder's promises held against what the demo has in hand: every step's claims, each one looked up and not assumed.
#pragma once

#include "cli/demo_evidence.hpp"
#include "cli/demo_report.hpp"

namespace warder {

DemoReport check_demo(const DemoEvidence& evidence, const DemoToken& token);

}  // namespace warder
