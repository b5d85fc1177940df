#include "config/presets.hpp"

#include <algorithm>
#include <regex>

#include "config/embedded.hpp"
#include "http/chars.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

constexpr std::string_view kPreset = "preset/";
constexpr std::string_view kProfile = "profile/";
constexpr std::size_t kMaxArgument = 128;

const Keys& preset_keys() {
  static const Keys kKeys{"a preset",
                          {"version", "about", "source", "parameters", "include", "rules"}};
  return kKeys;
}
const Keys& profile_keys() {
  static const Keys kKeys{"a profile",
                          {"version", "about", "source", "command", "include", "rules", "secrets",
                           "grants", "directories", "environment", "pass", "trust"}};
  return kKeys;
}
const Keys& parameter_keys() {
  static const Keys kKeys{"a parameter", {"pattern", "example", "about"}};
  return kKeys;
}

std::vector<std::string> names(std::string_view lead, std::span<const EmbeddedFile> files) {
  std::vector<std::string> out;
  for (const EmbeddedFile& file : files) out.push_back(std::string(lead).append(file.name));
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<PresetParameter> read_parameters(const Reader& reader, const YamlNode& node) {
  std::vector<PresetParameter> parameters;
  reader.expect_map(node, "parameters");
  for (const YamlEntry& entry : node.entries) {
    reader.expect_map(entry.value, entry.key);
    reader.expect_keys(entry.value, parameter_keys());
    const auto text = [&](const char* key) {
      return reader.text(reader.need(entry.value, key, parameter_keys()), key);
    };
    parameters.push_back({entry.key, text("pattern"), text("example"), text("about")});
  }
  return parameters;
}

Preset read_preset(std::string name, const EmbeddedFile& file, const Keys& keys) {
  const Reader reader(name);
  Preset preset{std::move(name), file.text, "", "", "", {}, {}};
  preset.root = parse_yaml(std::string(file.text), preset.name);
  reader.expect_keys(preset.root, keys);
  const auto text = [&](const char* key) {
    return reader.text(reader.need(preset.root, key, keys), key);
  };
  preset.version = text("version");
  preset.about = text("about");
  preset.source = text("source");
  if (const YamlNode* parameters = reader.find(preset.root, "parameters"))
    preset.parameters = read_parameters(reader, *parameters);
  return preset;
}

// Adds `text` from `from` on, behind `done`, with each of the values that it can have.
void fill(const std::string& done, std::string_view text, const PresetArguments& arguments,
          std::vector<std::string>& out) {
  const std::size_t begin = text.find("${");
  const std::size_t end = text.find('}', begin);
  if (begin == std::string_view::npos || end == std::string_view::npos) {
    out.push_back(done + std::string(text));
    return;
  }
  const std::string before = done + std::string(text.substr(0, begin));
  const auto values = arguments.find(std::string(text.substr(begin + 2, end - begin - 2)));
  if (values == arguments.end()) return;
  for (const std::string& value : values->second)
    fill(before + value, text.substr(end + 1), arguments, out);
}

}  // namespace

std::vector<std::string> preset_names() { return names(kPreset, embedded_presets()); }
std::vector<std::string> profile_names() { return names(kProfile, embedded_profiles()); }

bool is_built_in(std::string_view where) {
  return where.starts_with(kPreset) || where.starts_with(kProfile);
}

std::optional<Preset> find_preset(std::string_view name) {
  const bool is_profile = name.starts_with(kProfile);
  const std::string_view lead = is_profile ? kProfile : kPreset;
  for (const EmbeddedFile& file : is_profile ? embedded_profiles() : embedded_presets()) {
    if (name != std::string(lead).append(file.name)) continue;
    return read_preset(std::string(name), file, is_profile ? profile_keys() : preset_keys());
  }
  return std::nullopt;
}

std::string refuse_argument(const PresetParameter& parameter, const std::string& value) {
  const std::string such = ": write a value such as " + parameter.example;
  if (value.empty() || value.size() > kMaxArgument)
    return "must have 1 to " + std::to_string(kMaxArgument) + " characters" + such;
  for (const char c : value) {
    if (is_alnum(c) || c == '.' || c == '-' || c == '_' || c == '/') continue;
    return "may hold letters, digits, '.', '-', '_' and '/' only, and stands for itself, never for "
           "a "
           "pattern" +
           such;
  }
  const std::string bounded = '/' + value + '/';
  for (const char* hole : {"//", "/./", "/../"}) {
    if (bounded.find(hole) != std::string::npos)
      return "has an empty segment or one of dots alone" + such;
  }
  const std::regex pattern(parameter.pattern);
  return std::regex_match(value, pattern) ? "" : "is not " + parameter.about + such;
}

YamlNode filled_in(const YamlNode& rules, const PresetArguments& arguments) {
  YamlNode out = rules;
  for (YamlNode& rule : out.items) {
    for (YamlEntry& entry : rule.entries) {
      if (entry.key != "hosts" && entry.key != "paths") continue;
      std::vector<YamlNode> items;
      for (const YamlNode& item : entry.value.items) {
        std::vector<std::string> texts;
        fill("", item.text, arguments, texts);
        for (std::string& text : texts) {
          items.push_back(item);
          items.back().text = std::move(text);
        }
      }
      entry.value.items = std::move(items);
    }
  }
  return out;
}

}  // namespace warder
