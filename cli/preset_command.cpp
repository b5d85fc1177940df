#include "cli/preset_command.hpp"

#include <cstdio>

#include "cli/guard.hpp"
#include "config/presets.hpp"
#include "config/spelling.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

constexpr std::size_t kNameWidth = 26;

void list(const char* heading, const std::vector<std::string>& names) {
  std::string out = std::string(heading) + ":\n";
  for (const std::string& name : names) {
    const Preset preset = find_preset(name).value();
    std::string line = "  " + name;
    line.append(line.size() < kNameWidth ? kNameWidth - line.size() : 1, ' ');
    out += line + preset.about + '\n';
    for (const PresetParameter& parameter : preset.parameters) {
      out += std::string(kNameWidth + 2, ' ') + parameter.name + ": " + parameter.about +
             ", such as " + parameter.example + '\n';
    }
  }
  std::fputs(out.c_str(), stdout);
}

}  // namespace

int preset_list_command() {
  return guarded([] {
    list("to include in a policy (include: [preset/npm])", preset_names());
    list("for one agent (warder run --profile claude-code -- claude)", profile_names());
    return 0;
  });
}

int preset_show_command(const PresetShowArgs& args) {
  return guarded([&] {
    std::vector<std::string> known = preset_names();
    for (const std::string& name : profile_names()) known.push_back(name);
    std::vector<std::string> names = known;
    for (const std::string& name : known) {
      if (name != args.name && name.substr(name.find('/') + 1) != args.name) continue;
      const std::string_view text = find_preset(name).value().text;
      std::fwrite(text.data(), 1, text.size(), stdout);
      return 0;
    }
    for (const std::string& name : known) names.push_back(name.substr(name.find('/') + 1));
    throw ConfigError("unknown preset " + in_quotes(args.name) +
                      did_you_mean(args.name, names, ": `warder preset list` shows them"));
  });
}

}  // namespace warder
