#include <algorithm>
#include <optional>

#include "config/keys.hpp"
#include "config/sections.hpp"
#include "config/spelling.hpp"
#include "http/chars.hpp"
#include "policy/quote.hpp"
#include "secrets/json_places.hpp"

// No sentence here quotes what stands in a secret's place: a value pasted there by mistake must not be printed.
namespace warder {

const Keys& grant_keys() {
  static const Keys kKeys{
      "a grant",
      {"secret", "hosts", "at", "foreign", "plain_http", "max", "client_certificate", "capture"}};
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

namespace {

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

constexpr std::size_t kMaxPlaceName = 128;
constexpr const char* kPlaces =
    "header:NAME, basic, query:KEY, path, body:json:/FIELD, body:form:KEY, body or ws";

// Query and form keys are written as they are meant, not as they are escaped.
Place read_key(const Reader& reader, const YamlNode& node, Place::Kind kind, std::string key) {
  const std::string entry = "place " + in_quotes(node.text);
  const std::string lead = kind == Place::Kind::query ? "query:KEY" : "body:form:KEY";
  if (key.empty() || key.size() > kMaxPlaceName || has_control(key))
    reader.fail(node.place, entry + " names no key: write " + lead);
  const std::size_t sign = key.find('%');
  const bool escaped = sign != std::string::npos && key.size() - sign > 2 &&
                       hex_value(key[sign + 1]) >= 0 && hex_value(key[sign + 2]) >= 0;
  if (escaped || key.find_first_of("&=") != std::string::npos)
    reader.fail(node.place, entry + " has more than a key: write it as " + lead +
                                ", without '=', '&' and percent escapes");
  return {kind, std::move(key)};
}

Place read_pointer(const Reader& reader, const YamlNode& node, std::string pointer) {
  const std::string entry = "place " + in_quotes(node.text);
  const bool fits = pointer.size() <= kMaxPlaceName && !has_control(pointer);
  const auto tokens = fits ? parse_json_pointer(pointer) : std::nullopt;
  if (!tokens) {
    reader.fail(node.place, entry + " is no JSON pointer (RFC 6901): write body:json:/FIELD or " +
                                "body:json:/OUTER/FIELD, '~' as ~0 and '/' as ~1");
  }
  const auto is_open = [](const std::string& token) { return token == "*" || token == "-"; };
  if (std::any_of(tokens->begin(), tokens->end(), is_open))
    reader.fail(node.place, entry + " names no one field: write its name, or its number in a list");
  return {Place::Kind::body_json, std::move(pointer)};
}

std::optional<Place> read_other_place(const Reader& reader, const YamlNode& node) {
  const std::string& text = node.text;
  if (text == "basic") return Place{Place::Kind::basic, ""};
  if (text == "path") return Place{Place::Kind::path, ""};
  if (text == "body") return Place{Place::Kind::body, ""};
  if (text == "ws") return Place{Place::Kind::ws, ""};
  const auto behind = [&](std::string_view lead) -> std::optional<std::string> {
    if (!text.starts_with(lead)) return std::nullopt;
    return text.substr(lead.size());
  };
  if (auto key = behind("query:"))
    return read_key(reader, node, Place::Kind::query, std::move(*key));
  if (auto key = behind("body:form:"))
    return read_key(reader, node, Place::Kind::body_form, std::move(*key));
  if (auto pointer = behind("body:json:")) return read_pointer(reader, node, std::move(*pointer));
  for (const std::string word : {"query", "path", "body", "ws", "basic"}) {
    if (text != word && !text.starts_with(word + ':')) continue;
    reader.fail(node.place, "place " + in_quotes(text) + " is not one: write " + kPlaces);
  }
  return std::nullopt;
}

Place read_place(const Reader& reader, const YamlNode& node) {
  const std::string& text = reader.text(node, "at");
  if (auto place = read_other_place(reader, node)) return *std::move(place);
  const std::string entry = "place " + in_quotes(text);
  if (!text.starts_with("header:")) {
    const bool is_field = !text.empty() && all_in(kTokenChar, text);
    reader.fail(node.place,
                entry + " is not one: write " +
                    (is_field && !is_reflection_prone(text) ? "header:" + text : kPlaces));
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

Grant::Foreign read_foreign(const Reader& reader, const YamlNode& node) {
  const std::string& text = reader.text(node, "foreign");
  for (const auto foreign : {Grant::Foreign::refuse, Grant::Foreign::strip, Grant::Foreign::pass}) {
    if (text == to_string(foreign)) return foreign;
  }
  reader.fail(node.place, "'foreign' is " + in_quotes(text) + ": write refuse, strip or pass");
}

unsigned read_max(const Reader& reader, const YamlNode& node) {
  const std::string& text = reader.text(node, "max");
  for (unsigned n = 1; n <= Grant::kMostMax; ++n) {
    if (text == std::to_string(n)) return n;
  }
  reader.fail(node.place, "'max' must be a number from 1 to " + std::to_string(Grant::kMostMax) +
                              ", not " + in_quotes(text));
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
    if (const YamlNode* foreign = reader.find(item, "foreign"))
      grant.foreign = read_foreign(reader, *foreign);
    if (const YamlNode* plain = reader.find(item, "plain_http"))
      grant.plain_http = reader.yes_or_no(*plain, "plain_http");
    if (const YamlNode* max = reader.find(item, "max")) grant.max = read_max(reader, *max);
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
