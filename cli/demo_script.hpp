// What the demo does inside its sandbox, and the policy under which it does it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace warder {

inline constexpr const char* kDemoHost = "api.demo.test";
inline constexpr const char* kDemoSource = "WARDER_DEMO_TOKEN";  // holds the value outside
inline constexpr const char* kDemoVariable = "GITHUB_TOKEN";     // holds the placeholder inside
inline constexpr const char* kDemoAddress = "93.184.216.34";     // dialled without a name
inline constexpr const char* kDemoName = "paste.example";        // looked up, not allowed
inline constexpr const char* kDemoForbiddenPath = "/admin/keys";
inline constexpr const char* kDemoScriptFile = "demo.sh";

struct DemoCommand {
  std::string_view step;
  std::string_view text;  // as the page shows it and as sh runs it
};
std::span<const DemoCommand> demo_commands();

// Runs every command; what it prints goes to STEP.out and its exit code to STEP.code in the working directory.
std::string demo_script();

// The configuration; `ca_file` is relative to where it is said to stand.
std::string demo_config(std::string_view origin_address, std::string_view ca_file);

}  // namespace warder
