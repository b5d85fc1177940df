// What of a host cannot be cloned, by its table of mounts.
#include "sandbox-launcher/overlay.hpp"

#include <string>

#include "sandbox-launcher/launch_error.hpp"
#include "tests/support/catch.hpp"

namespace warder::test {
namespace {

std::string refusal(const LaunchPlan& plan, const std::string& mounted) {
  const std::string table =
      "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 22 0:30 / " + mounted + " rw - tmpfs tmpfs rw\n";
  try {
    check_clone(plan, table);
  } catch (const LaunchError& error) {
    CHECK(error.exit_code == 2);
    return error.what();
  }
  return {};
}

LaunchPlan cloned() {
  LaunchPlan plan;
  plan.spec.workspace = "/no/such/my ws";
  plan.spec.clone = "/state/clones/1";
  return plan;
}

TEST_CASE("a mount in the workspace is refused, by its real name, and others are not") {
  LaunchPlan plan = cloned();
  CHECK(refusal(plan, "/no/such/my\\040ws/data").starts_with("/no/such/my ws/data is a file"));
  CHECK(refusal(plan, "/no/such/my\\040ws").empty());
  CHECK(refusal(plan, "/no/such/my\\040ws-2/data").empty());
  plan.spec.read_only = {"/no/such/my ws/data"};
  CHECK(refusal(plan, "/no/such/my\\040ws/data").empty());
  CHECK(refusal(plan, "/no/such/my\\040ws/data/deeper").empty());
}

TEST_CASE("without a clone no mount is looked at") {
  LaunchPlan plan = cloned();
  plan.spec.clone.clear();
  CHECK(refusal(plan, "/no/such/my\\040ws/data").empty());
}

}  // namespace
}  // namespace warder::test
