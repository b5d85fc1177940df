// A policy's `sandbox`: what each of its sandboxes may take of the machine.
#include "base/bounds.hpp"

#include "config/keys.hpp"
#include "config/sections.hpp"
#include "policy/quote.hpp"

namespace warder {

const Keys& sandbox_keys() {
  static const Keys kKeys = [] {
    Keys keys{"sandbox", {}};
    for (std::size_t i = 0; i < kBounds; ++i)
      keys.known.emplace_back(to_string(static_cast<Bound>(i)));
    return keys;
  }();
  return kKeys;
}

Bounds read_bounds(const Reader& reader, const YamlNode& node) {
  reader.expect_map(node, "sandbox");
  reader.expect_keys(node, sandbox_keys());
  Bounds bounds;
  for (std::size_t i = 0; i < kBounds; ++i) {
    const auto bound = static_cast<Bound>(i);
    const std::string key(to_string(bound));
    const YamlNode* value = reader.find(node, key);
    if (value == nullptr) continue;
    const std::string& text = reader.text(*value, key);
    const auto parsed = parse_bound(bound, text);
    if (const auto* sentence = std::get_if<std::string>(&parsed))
      reader.fail(value->place, "'" + key + "' is " + in_quotes(text) + ": " + *sentence);
    bounds.set(bound, std::get<std::uint64_t>(parsed));
  }
  return bounds;
}

}  // namespace warder
