#include "http/cookies.hpp"
#include "tests/support/catch.hpp"

namespace warder {
namespace {

TEST_CASE("BR-026: several Cookie fields become one, where the first stood") {
  HeaderList fields;
  fields.add("host", "a");
  fields.add("cookie", "a=1");
  fields.add("x", "y");
  fields.add("Cookie", "s=PH_TOK_7f3a91");
  fields.add("cookie", "");
  fields.add("cookie", "z=3, 4; q");
  join_cookies(fields);
  CHECK(fields.fields() == std::vector<HeaderField>{{"host", "a"},
                                                    {"cookie", "a=1; s=PH_TOK_7f3a91; z=3, 4; q"},
                                                    {"x", "y"}});
}

TEST_CASE("one Cookie field, or none, stays as it is") {
  HeaderList fields;
  join_cookies(fields);
  CHECK(fields.empty());
  fields.add("Cookie", "a=1;b=2");
  join_cookies(fields);
  CHECK(fields.fields() == std::vector<HeaderField>{{"Cookie", "a=1;b=2"}});
}

}  // namespace
}  // namespace warder
