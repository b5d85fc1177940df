#include "config/rule_matchers.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "http/chars.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

constexpr std::size_t kMaxName = 128;
constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;

// They hold placeholders: policy decides before what those stand for is known, and a pattern of one
// would have a secret in the configuration.
constexpr auto kCredentials = std::to_array<std::string_view>({"authorization",
                                                               "proxy-authorization",
                                                               "authentication",
                                                               "x-authorization",
                                                               "cookie",
                                                               "cookie2",
                                                               "set-cookie",
                                                               "x-api-key",
                                                               "api-key",
                                                               "apikey",
                                                               "x-apikey",
                                                               "x-goog-api-key",
                                                               "private-token",
                                                               "job-token",
                                                               "deploy-token",
                                                               "x-auth-token",
                                                               "x-access-token",
                                                               "x-token",
                                                               "x-session-token",
                                                               "x-vault-token",
                                                               "x-amz-security-token",
                                                               "x-github-token",
                                                               "x-csrf-token",
                                                               "x-xsrf-token",
                                                               "dd-api-key",
                                                               "dd-application-key",
                                                               "ocp-apim-subscription-key",
                                                               "x-functions-key",
                                                               "x-shopify-access-token",
                                                               "x-figma-token",
                                                               "circle-token",
                                                               "token"});
// They end at the gateway, so the origin would never see what was decided on.
constexpr auto kOfConnection = std::to_array<std::string_view>(
    {"connection", "proxy-connection", "keep-alive", "te", "trailer", "transfer-encoding",
     "upgrade", "http2-settings", "expect", "proxy-authenticate"});

template <class List, class Item>
bool is_in_list(const List& list, const Item& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

void refuse_unfit_name(const Reader& reader, YamlPlace place, std::string_view name,
                       std::string_view lower) {
  const std::string entry = "headers: " + in_quotes(name);
  if (name.empty() || name.size() > kMaxName || !all_in(kTokenChar, name))
    reader.fail(place, entry + " is no header field: write a name such as x-environment");
  if (lower == "host")
    reader.fail(place, entry + " is what the host is decided by: write hosts: [...] instead");
  if (lower == "content-length")
    reader.fail(place, entry + " is how a length is declared: write max_body: 64KiB instead");
  if (is_in_list(kCredentials, lower)) {
    reader.fail(place,
                entry +
                    " holds credentials, which rules do not look at: remove it, and say in a "
                    "grant which secret may be used where");
  }
  if (is_in_list(kOfConnection, lower)) {
    reader.fail(place, entry +
                           " belongs to the connection, which ends at the gateway, so its origin "
                           "never sees it: remove it");
  }
}

template <class Value>
Value parsed(const Reader& reader, const YamlNode& node, const std::string& key) {
  auto value = Value::parse(reader.text(node, key));
  if (auto* sentence = std::get_if<std::string>(&value))
    reader.fail(node.place, key + ": " + *sentence);
  return std::get<Value>(std::move(value));
}

template <class Value>
std::vector<Value> read_each(const Reader& reader, const YamlNode& node, const std::string& key) {
  std::vector<Value> out;
  for (const YamlNode& item : reader.list(node, key)) {
    Value value = parsed<Value>(reader, item, key);
    if (is_in_list(out, value))
      reader.fail(item.place, in_quotes(item.text) + " stands twice in this list: remove one");
    out.push_back(std::move(value));
  }
  return out;
}

}  // namespace

std::vector<QueryKey> read_query(const Reader& reader, const YamlNode& node) {
  return read_each<QueryKey>(reader, node, "query");
}

std::vector<FieldMatch> read_header_matches(const Reader& reader, const YamlNode& node) {
  reader.expect_map(node, "headers");
  if (node.entries.empty())
    reader.fail(node.place, "'headers' is an empty map: name at least one, or remove the key");
  std::vector<FieldMatch> out;
  for (const YamlEntry& entry : node.entries) {
    if (out.size() == Reader::kMaxList) {
      reader.fail(entry.place,
                  "'headers' has more than " + std::to_string(Reader::kMaxList) + " entries");
    }
    std::string lower = entry.key;
    // "X_Api_Key" is that field to CGI and what is like it.
    for (char& c : lower) c = c == '_' ? '-' : to_lower(c);
    refuse_unfit_name(reader, entry.place, entry.key, lower);
    FieldMatch field(entry.key, read_each<ValuePattern>(reader, entry.value, "headers"));
    const auto same = [&](const FieldMatch& other) { return other.name() == field.name(); };
    if (std::any_of(out.begin(), out.end(), same)) {
      reader.fail(entry.place, "headers: " + in_quotes(entry.key) +
                                   " stands twice in this map (letters may differ): remove one");
    }
    out.push_back(std::move(field));
  }
  return out;
}

std::uint64_t read_size(const Reader& reader, const YamlNode& node, std::string_view key) {
  const std::string& text = reader.text(node, key);
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [unit_begin, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit(unit_begin, static_cast<std::size_t>(end - unit_begin));
  const std::uint64_t factor = unit.empty()    ? 1
                               : unit == "KiB" ? 1 << 10
                               : unit == "MiB" ? 1 << 20
                               : unit == "GiB" ? 1 << 30
                                               : 0;
  if (error == std::errc{} && factor != 0 && number <= kLargest / factor) return number * factor;
  reader.fail(node.place, "'" + std::string(key) + "' is " + in_quotes(text) +
                              ": write bytes, or a size such as 64KiB, 10MiB or 1GiB, up to "
                              "1024GiB");
}

}  // namespace warder
