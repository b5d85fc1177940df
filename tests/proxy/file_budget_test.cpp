// How many open files one session may hold.
#include "proxy/file_budget.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

TEST_CASE("sessions that each hold their share of three kinds leave one share free") {
  for (const std::uint64_t files : {1'024, 4'096, 1'048'576}) {
    FileBudget budget(files);
    for (std::uint64_t sessions = 1; sessions <= 20; ++sessions) {
      budget.sessions = sessions;
      CHECK(budget.of_each() * 3 * (sessions + 1) <= files - 96);
      CHECK(budget.of_each() >= (files - 96) / 3 / (sessions + 1));
    }
  }
}

TEST_CASE("with hardly any files a session can still do something") {
  for (const std::uint64_t files : {0, 1, 96, 100}) {
    FileBudget budget(files);
    budget.sessions = 3;
    CHECK(budget.of_each() == 4);
  }
}
