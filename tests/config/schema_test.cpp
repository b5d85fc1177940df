// config/schema.json, from which editors complete and docs/config.md is made, names the keys that the reader takes.
#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "config/keys.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
namespace json = boost::json;

namespace {

using Sections = std::map<std::string, std::set<std::string>>;

// Every map with a title, and its keys.
void collect(const json::value& node, Sections& sections) {
  if (const auto* list = node.if_array()) {
    for (const json::value& each : *list) collect(each, sections);
  }
  const auto* map = node.if_object();
  if (map == nullptr) return;
  const json::value* title = map->if_contains("title");
  const json::value* properties = map->if_contains("properties");
  if (title != nullptr && title->is_string() && properties != nullptr) {
    auto& keys = sections[std::string(title->get_string())];
    for (const auto& member : properties->as_object()) keys.insert(std::string(member.key()));
  }
  for (const auto& member : *map) collect(member.value(), sections);
}

Sections sections_of_schema() {
  std::ifstream in(std::filesystem::path(WARDER_SOURCE_DIR) / "config/schema.json");
  std::stringstream text;
  text << in.rdbuf();
  Sections sections;
  collect(json::parse(text.str()), sections);
  return sections;
}

}  // namespace

TEST_CASE("the schema has the keys that the reader takes, and no others") {
  Sections sections = sections_of_schema();
  CHECK(sections.size() > 15);
  for (const Keys* keys : all_keys()) {
    CAPTURE(keys->what);
    std::set<std::string> known(keys->known.begin(), keys->known.end());
    // The two that make it another kind of grant, each with a section of its own.
    if (keys->what == "a grant") known.erase("client_certificate"), known.erase("capture");
    const auto found = sections.find(keys->what);
    REQUIRE(found != sections.end());
    CHECK(found->second == known);
    sections.erase(found);
  }
  // Four kinds of source, whose keys no map has in common.
  for (const char* kind :
       {"a source in the environment", "a source in a file", "a helper", "an entry of the store"})
    CHECK(sections.erase(kind) == 1);
  CHECK(sections.empty());
}
