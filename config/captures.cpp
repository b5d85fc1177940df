#include <algorithm>
#include <iterator>

#include "config/keys.hpp"
#include "config/sections.hpp"
#include "policy/quote.hpp"
#include "secrets/token_reply.hpp"

namespace warder {

const Keys& capture_grant_keys() {
  static const Keys kKeys{"a grant of captured tokens", {"capture", "hosts", "at"}};
  return kKeys;
}
const Keys& capture_keys() {
  static const Keys kKeys{"capture", {"name", "hosts", "paths", "fields"}};
  return kKeys;
}

namespace {

std::vector<PathPattern> read_paths(const Reader& reader, const YamlNode& node) {
  std::vector<PathPattern> paths;
  for (const YamlNode& item : reader.list(node, "paths")) {
    auto parsed = PathPattern::parse(reader.text(item, "paths"));
    if (auto* sentence = std::get_if<std::string>(&parsed))
      reader.fail(item.place, "paths: " + *sentence);
    paths.push_back(std::get<PathPattern>(std::move(parsed)));
  }
  return paths;
}

std::vector<std::string> read_fields(const Reader& reader, const YamlNode& node) {
  std::vector<std::string> fields;
  for (const YamlNode& item : reader.list(node, "fields")) {
    const std::string& name = reader.text(item, "fields");
    if (!is_plain_name(name)) {
      reader.fail(item.place, "field " + in_quotes(name) +
                                  " may have letters, digits, '-' and '_' only, up to 64: write a "
                                  "name such as access_token");
    }
    fields.push_back(name);
  }
  return fields;
}

Capture read_capture(const Reader& reader, const YamlNode& item) {
  reader.expect_keys(item, capture_grant_keys());
  const YamlNode& from = *reader.find(item, "capture");
  reader.expect_map(from, "capture");
  reader.expect_keys(from, capture_keys());
  Capture capture;
  capture.where = reader.where(item.place);
  const YamlNode& name = reader.need(from, "name", capture_keys());
  capture.name = reader.text(name, "name");
  if (!is_plain_name(capture.name)) {
    reader.fail(name.place, "capture name " + in_quotes(capture.name) +
                                " may have letters, digits, '-' and '_' only, up to 64");
  }
  capture.from = read_hosts(reader, reader.need(from, "hosts", capture_keys()));
  capture.paths = read_paths(reader, reader.need(from, "paths", capture_keys()));
  const YamlNode* fields = reader.find(from, "fields");
  if (fields != nullptr)
    capture.fields = read_fields(reader, *fields);
  else
    capture.fields.assign(std::begin(kTokenFields), std::end(kTokenFields));
  capture.hosts = read_hosts(reader, reader.need(item, "hosts", capture_grant_keys()));
  const YamlNode* at = reader.find(item, "at");
  capture.at = at != nullptr ? read_places(reader, *at) : default_places();
  return capture;
}

}  // namespace

bool is_capture_grant(const Reader& reader, const YamlNode& grant) {
  return grant.kind == YamlNode::Kind::map && reader.find(grant, "capture") != nullptr;
}

std::vector<Capture> read_captures(const Reader& reader, const YamlNode& node) {
  std::vector<Capture> captures;
  for (const YamlNode& item : reader.bounded(node, "grants")) {
    if (!is_capture_grant(reader, item)) continue;
    Capture capture = read_capture(reader, item);
    for (const Capture& other : captures) {
      if (other.name != capture.name) continue;
      reader.fail(item.place, "capture '" + capture.name +
                                  "' stands twice in this policy (first at " + other.where +
                                  "): give one another name");
    }
    captures.push_back(std::move(capture));
  }
  return captures;
}

}  // namespace warder
