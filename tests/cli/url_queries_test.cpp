#include "cli/url_queries.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

TEST_CASE("what stands in a URL's query or fragment is not shown") {
  CHECK(without_queries("curl") == "curl");
  CHECK(without_queries("what? is#this") == "what? is#this");
  CHECK(without_queries("https://a.test/x") == "https://a.test/x");
  CHECK(without_queries("https://a.test/x?sig=abc") == "https://a.test/x?[query]");
  CHECK(without_queries("https://a.test/x#token=abc") == "https://a.test/x#[query]");
  CHECK(without_queries("https://a.test?a=https://b.test/?c=d") == "https://a.test?[query]");
  CHECK(without_queries("curl 'https://a.test/?k=v' -o \"x?y\"") ==
        "curl 'https://a.test/?[query]' -o \"x?y\"");
  CHECK(without_queries("a://b?c d://e?f") == "a://b?[query] d://e?[query]");
  CHECK(without_queries("://") == "://");
  CHECK(without_queries("") == "");
}
