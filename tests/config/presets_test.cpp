// The presets against URLs as the real tools ask them, and what is true of all of them.
#include "config/presets.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/include.hpp"
#include "http/target.hpp"
#include "policy/policy.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
namespace fs = std::filesystem;

namespace {

const fs::path kCorpus = fs::path(WARDER_SOURCE_DIR) / "tests/corpus/presets";

std::string short_name(const std::string& name) { return name.substr(name.find('/') + 1); }

// "# with repository=acme/x,acme/y": what the corpus includes the preset with.
PresetArguments arguments_of(const std::string& line) {
  PresetArguments arguments;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    std::istringstream values(word.substr(equals + 1));
    for (std::string value; std::getline(values, value, ',');)
      arguments[word.substr(0, equals)].push_back(value);
  }
  return arguments;
}

bool allows(const Policy& policy, const std::string& method, const std::string& url) {
  const auto target = parse_target("GET", url);
  if (!target || !target->scheme || is_ambiguous_path(target->path)) return false;
  const HostPort& at = *target->host_port;
  const Authority authority{*target->scheme, at.host,
                            at.port.value_or(default_port(*target->scheme))};
  return policy.authorize_connection(authority).allows() &&
         policy.authorize({authority, method, target->path}).allows();
}

struct Corpus {
  PresetArguments arguments;
  struct Line {
    std::string method, url, expected;
  };
  std::vector<Line> lines;
};

Corpus read_corpus(const std::string& name) {
  Corpus corpus;
  std::ifstream file(kCorpus / (name + ".txt"));
  for (std::string text; std::getline(file, text);) {
    if (text.starts_with("# with ")) corpus.arguments = arguments_of(text);
    if (text.empty() || text.starts_with('#')) continue;
    Corpus::Line line;
    std::istringstream(text) >> line.method >> line.url >> line.expected;
    corpus.lines.push_back(line);
  }
  return corpus;
}

PresetArguments examples(const Preset& preset) {
  PresetArguments arguments;
  for (const PresetParameter& one : preset.parameters) arguments[one.name] = {one.example};
  return arguments;
}

}  // namespace

TEST_CASE("each preset allows what its tools ask, and nothing like it") {
  for (const std::string& name : preset_names()) {
    const Preset preset = find_preset(name).value();
    const Corpus corpus = read_corpus(short_name(name));
    const Policy policy("p", preset_rules(preset, corpus.arguments));
    INFO(name);
    CHECK(corpus.lines.size() >= 15);
    std::size_t denied = 0;
    for (const Corpus::Line& line : corpus.lines) {
      CAPTURE(line.method, line.url);
      REQUIRE((line.expected == "allow" || line.expected == "deny"));
      denied += line.expected == "deny" ? 1 : 0;
      CHECK(allows(policy, line.method, line.url) == (line.expected == "allow"));
    }
    CHECK(denied >= 5);
    // Each rule is there for a reason: some line of the corpus needs it.
    for (const Rule& rule : policy.rules()) {
      INFO(rule.name);
      CHECK(std::any_of(corpus.lines.begin(), corpus.lines.end(), [&](const Corpus::Line& line) {
        return allows(Policy("one", {rule}), line.method, line.url);
      }));
    }
  }
}

TEST_CASE("a preset says what it is and what it is based on, and is narrow") {
  for (const std::string& name : preset_names()) {
    INFO(name);
    const Preset preset = find_preset(name).value();
    CHECK(preset.version == "1");
    CHECK(preset.about.size() > 20);
    CHECK(preset.source.size() > 40);
    const bool in_clear_text = name == "preset/debian" || name == "preset/ubuntu";
    const std::vector<Rule> rules = preset_rules(preset, examples(preset));
    CHECK_FALSE(rules.empty());
    for (const Rule& rule : rules) {
      INFO(rule.name);
      CHECK(rule.action == Action::allow);
      CHECK_FALSE(rule.allow_private);
      CHECK_FALSE(rule.methods.empty());
      CHECK(rule.ports ==
            (in_clear_text ? std::vector<std::uint16_t>{} : std::vector<std::uint16_t>{443}));
      CHECK(rule.where.starts_with("preset/"));
      CHECK(is_rule_name(rule.name));
      for (const HostPattern& host : rule.hosts) CHECK(host.str().find('*') == std::string::npos);
      // Whoever may write may not write everywhere; AWS has no paths to tell operations by.
      const bool reads = std::all_of(rule.methods.begin(), rule.methods.end(),
                                     [](const auto& m) { return m == "GET" || m == "HEAD"; });
      if (!reads && name != "preset/aws") CHECK_FALSE(rule.paths.empty());
    }
    for (const PresetParameter& parameter : preset.parameters)
      CHECK(refuse_argument(parameter, parameter.example).empty());
  }
}

TEST_CASE("an argument never widens") {
  const PresetParameter any{"x", ".*", "acme", "anything"};
  for (const char* value : {"*",    "a*",   "**",   "a/**",  "a/../b", "..",  ".",       "a/./b",
                            "a//b", "/a",   "a/",   "a%2Fb", "a?b",    "a#b", "a b",     "a\\b",
                            "a;b",  "${x}", "a\nb", "a@b",   ":",      "",    "\xc3\xa9"}) {
    CAPTURE(value);
    CHECK_FALSE(refuse_argument(any, value).empty());
  }
  CHECK_FALSE(refuse_argument(any, std::string("a\0b", 3)).empty());
  CHECK_FALSE(refuse_argument(any, std::string(129, 'a')).empty());
  CHECK(refuse_argument(any, std::string(128, 'a')).empty());

  const auto parameter = [](const char* preset, const char* name) {
    const Preset found = find_preset(preset).value();
    for (const PresetParameter& one : found.parameters) {
      if (one.name == name) return one;
    }
    throw std::runtime_error("no such parameter");
  };
  const PresetParameter repository = parameter("preset/github-repository", "repository");
  for (const char* value : {"acme", "acme/", "acme/x/y", "acme/x.git", "-acme/x", "ac.me/x",
                            "acme/..", "acme/.", "acme/x/info"}) {
    CAPTURE(value);
    CHECK_FALSE(refuse_argument(repository, value).empty());
  }
  for (const char* value : {"acme/x", "A-1/.github", "acme/x.y_z-1", "acme/git"})
    CHECK(refuse_argument(repository, value).empty());
  const PresetParameter service = parameter("preset/aws", "services");
  for (const char* value : {"S3", "s3.", ".s3", "a.b.s3", "s3/x", "evil.example/x", "s_3", "-s3"}) {
    CAPTURE(value);
    CHECK_FALSE(refuse_argument(service, value).empty());
  }
  const PresetParameter region = parameter("preset/aws", "regions");
  for (const char* value : {"eu", "cn-north-1", "eu-central-1.amazonaws.com", "eu-central",
                            "EU-central-1", "eu-central-1/x"}) {
    CAPTURE(value);
    CHECK_FALSE(refuse_argument(region, value).empty());
  }
}

TEST_CASE("the page of the presets names them all, and no other") {
  std::ifstream file(fs::path(WARDER_SOURCE_DIR) / "docs/presets.md");
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `preset/") || line.starts_with("| `profile/")) rows.push_back(line);
  }
  std::vector<std::string> expected;
  for (const auto& names : {preset_names(), profile_names()}) {
    for (const std::string& name : names) {
      const Preset preset = find_preset(name).value();
      std::string parameters;
      for (const PresetParameter& one : preset.parameters)
        parameters += (parameters.empty() ? " (" : ", ") + one.name;
      if (!parameters.empty()) parameters += ')';
      expected.push_back("| `" + name + "`" + parameters + " | " + preset.about + " |");
    }
  }
  CHECK(rows == expected);
}
