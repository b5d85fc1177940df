#include <algorithm>

#include "config/sections.hpp"
#include "config/spelling.hpp"
#include "http/chars.hpp"
#include "policy/quote.hpp"

// No sentence here quotes what stands in a secret's place: a value pasted there by mistake must not be printed.
namespace warder {
namespace {

const Keys& grant_keys() {
  static const Keys kKeys{"a grant", {"secret", "hosts", "at", "client_certificate", "capture"}};
  return kKeys;
}
const Keys& certificate_grant_keys() {
  static const Keys kKeys{"a grant of a client certificate", {"client_certificate", "hosts"}};
  return kKeys;
}
const Keys& certificate_keys() {
  static const Keys kKeys{"client_certificate", {"certificate", "key"}};
  return kKeys;
}

// Fields that frame the message or that Warder itself consumes.
bool is_not_a_place(std::string_view field) {
  static const std::vector<std::string_view> kFields{"connection",
                                                     "content-encoding",
                                                     "content-length",
                                                     "keep-alive",
                                                     "proxy-authorization",
                                                     "te",
                                                     "trailer",
                                                     "upgrade",
                                                     "transfer-encoding",
                                                     "proxy-connection"};
  return std::find(kFields.begin(), kFields.end(), field) != kFields.end();
}

void refuse_later_place(const Reader& reader, const YamlNode& node) {
  for (const std::string word : {"query", "path", "body", "ws"}) {
    if (node.text == word || node.text.starts_with(word + ':')) {
      reader.fail(node.place,
                  "place " + in_quotes(node.text) + " is not there yet: use header:NAME or basic");
    }
  }
}

Place read_place(const Reader& reader, const YamlNode& node) {
  const std::string& text = reader.text(node, "at");
  if (text == "basic") return {Place::Kind::basic, ""};
  refuse_later_place(reader, node);
  const std::string entry = "place " + in_quotes(text);
  if (!text.starts_with("header:")) {
    const bool is_field = !text.empty() && all_in(kTokenChar, text);
    reader.fail(node.place,
                entry + " is not one: write " +
                    (is_field ? "header:" + text + " or basic" : "header:NAME or basic"));
  }
  std::string field = text.substr(7);
  if (field.empty() || field.size() > 128 || !all_in(kTokenChar, field)) {
    reader.fail(node.place,
                entry + " names no header field: write header:NAME, such as header:x-api-key");
  }
  std::transform(field.begin(), field.end(), field.begin(), to_lower);
  if (is_reflection_prone(field)) {
    reader.fail(node.place, entry +
                                " is a field that servers send back or log, so a secret must never "
                                "stand there: use header:authorization or the API's own field");
  }
  if (is_not_a_place(field)) {
    reader.fail(node.place,
                entry +
                    " is a field between Warder and its peers, which holds no secret of an "
                    "API: use header:authorization or the API's own field");
  }
  return {Place::Kind::header, std::move(field)};
}

void check_secret(const Reader& reader, const YamlNode& node,
                  const std::vector<SecretConfig>& secrets) {
  const std::string& name = reader.text(node, "secret");
  std::vector<std::string> known;
  for (const SecretConfig& secret : secrets) known.push_back(secret.name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  reader.fail(node.place, "unknown secret " + in_quotes(name) + " in a grant" +
                              did_you_mean(name, known, ": name it under 'secrets' first"));
}

}  // namespace

std::vector<Place> read_places(const Reader& reader, const YamlNode& node) {
  std::vector<Place> places;
  for (const YamlNode& entry : reader.list(node, "at")) {
    Place place = read_place(reader, entry);
    if (std::find(places.begin(), places.end(), place) != places.end()) {
      reader.fail(entry.place, in_quotes(entry.text) + " stands twice in this list: remove one");
    }
    places.push_back(std::move(place));
  }
  return places;
}

std::vector<Grant> read_grants(const Reader& reader, const YamlNode& node,
                               const std::vector<SecretConfig>& secrets) {
  std::vector<Grant> grants;
  if (node.kind != YamlNode::Kind::list) {
    reader.fail(node.place, "'grants' must be a list, not " + describe(node));
  }
  for (const YamlNode& item : reader.bounded(node, "grants")) {
    if (item.kind != YamlNode::Kind::map) {
      reader.fail(item.place,
                  "a grant must be a map such as {secret: NAME, hosts: [api.example.com]}, not " +
                      describe(item));
    }
    if (is_certificate_grant(reader, item) || is_capture_grant(reader, item)) continue;
    reader.expect_keys(item, grant_keys());
    const YamlNode& secret = reader.need(item, "secret", grant_keys());
    check_secret(reader, secret, secrets);
    Grant grant{secret.text, read_hosts(reader, reader.need(item, "hosts", grant_keys())),
                default_places(), reader.where(item.place)};
    if (const YamlNode* at = reader.find(item, "at")) grant.at = read_places(reader, *at);
    grants.push_back(std::move(grant));
  }
  return grants;
}

bool is_certificate_grant(const Reader& reader, const YamlNode& grant) {
  return grant.kind == YamlNode::Kind::map && reader.find(grant, "client_certificate") != nullptr;
}

std::vector<CertificateGrant> read_certificate_grants(const Reader& reader, const YamlNode& node) {
  std::vector<CertificateGrant> grants;
  for (const YamlNode& item : reader.bounded(node, "grants")) {
    if (!is_certificate_grant(reader, item)) continue;
    reader.expect_keys(item, certificate_grant_keys());
    const YamlNode& files = *reader.find(item, "client_certificate");
    reader.expect_map(files, "client_certificate");
    reader.expect_keys(files, certificate_keys());
    const auto path = [&](const char* key) {
      return reader.path(reader.need(files, key, certificate_keys()), key);
    };
    grants.push_back({path("certificate"), path("key"),
                      read_hosts(reader, reader.need(item, "hosts", certificate_grant_keys())),
                      reader.where(item.place)});
  }
  return grants;
}

}  // namespace warder
