#include <algorithm>
#include <array>

#include "config/sections.hpp"
#include "config/spelling.hpp"
#include "http/chars.hpp"

// No sentence here quotes what stands in a source: a value pasted there by mistake must not be printed.
namespace warder {
namespace {

constexpr const char* kOneOf =
    "write exactly one of {env: NAME}, {file: PATH}, {exec: [PROGRAM, ARGUMENT…]} and {store: "
    "NAME}";
constexpr std::size_t kMostArguments = 64;
constexpr std::chrono::milliseconds kShortestCache{1'000};
constexpr std::chrono::milliseconds kLongestTimeout{60'000};

// The keys of each kind, the one that makes it first.
struct KindKeys {
  SourceConfig::Kind kind;
  std::vector<std::string> keys;
};
const std::vector<KindKeys>& kinds() {
  static const std::vector<KindKeys> kKinds{
      {SourceConfig::Kind::exec, {"exec", "format", "host", "timeout", "cache", "env"}},
      {SourceConfig::Kind::store, {"store", "file"}},
      {SourceConfig::Kind::env, {"env"}},
      {SourceConfig::Kind::file, {"file"}}};
  return kKinds;
}

class SourceReader {
 public:
  SourceReader(const Reader& reader, const YamlNode& node, const std::string& in)
      : reader_(reader), node_(node), in_(in) {}

  SourceConfig read() const {
    if (node_.kind != YamlNode::Kind::map)
      reader_.fail(node_.place,
                   in_ + " must be {env: NAME} or {file: PATH}, never the value itself");
    if (node_.entries.empty()) reader_.fail(node_.place, in_ + " is empty: " + kOneOf);
    for (const YamlEntry& entry : node_.entries) refuse_unknown(entry);
    const KindKeys& kind = kind_of_this();
    for (const YamlEntry& entry : node_.entries) {
      if (std::find(kind.keys.begin(), kind.keys.end(), entry.key) != kind.keys.end()) continue;
      const bool second = is_kind(entry.key);
      reader_.fail(entry.place, in_ + " has both " + kind.keys.front() + " and " + entry.key +
                                    ": " + (second ? kOneOf : "remove " + entry.key));
    }
    SourceConfig source;
    source.kind = kind.kind;
    switch (kind.kind) {
      case SourceConfig::Kind::env: source.env = env_name(need("env"), "'env'"); break;
      case SourceConfig::Kind::file: source.file = path(need("file"), "'file'"); break;
      case SourceConfig::Kind::exec: source.exec = exec(); break;
      case SourceConfig::Kind::store: read_store(source); break;
    }
    return source;
  }

 private:
  static bool is_kind(std::string_view key) {
    return std::any_of(kinds().begin(), kinds().end(),
                       [&](const KindKeys& kind) { return kind.keys.front() == key; });
  }

  void refuse_unknown(const YamlEntry& entry) const {
    std::vector<std::string> known;
    for (const KindKeys& kind : kinds()) {
      for (const std::string& key : kind.keys) {
        if (key == entry.key) return;
        known.push_back(key);
      }
    }
    if (entry.key == "vault") {
      reader_.fail(entry.place, in_ + ": 'vault' is not there yet: use env, file, exec or store");
    }
    const std::string meant = nearest(entry.key, known);
    reader_.fail(entry.place,
                 in_ + " has an unknown key: " +
                     (meant.empty() ? "write {env: NAME} or {file: PATH}, never the value itself"
                                    : "did you mean '" + meant + "'?"));
  }

  const KindKeys& kind_of_this() const {
    for (const KindKeys& kind : kinds()) {
      if (reader_.find(node_, kind.keys.front()) != nullptr) return kind;
    }
    reader_.fail(node_.place, in_ + " says not where the value is: " + kOneOf);
  }

  const YamlNode& need(std::string_view key) const { return *reader_.find(node_, key); }

  [[noreturn]] void fail(const YamlNode& node, const std::string& sentence) const {
    reader_.fail(node.place, in_ + ": " + sentence);
  }

  std::string plain_text(const YamlNode& node, const std::string& what) const {
    if (node.kind != YamlNode::Kind::scalar || node.text.empty() || has_control(node.text))
      fail(node, what + " must be text");
    return node.text;
  }

  std::string env_name(const YamlNode& node, const std::string& what) const {
    if (node.kind == YamlNode::Kind::scalar && is_env_name(node.text)) return node.text;
    fail(node, what +
                   " is not the name of an environment variable: write a name such as "
                   "GITHUB_TOKEN, never the value itself");
  }

  std::filesystem::path path(const YamlNode& node, const std::string& what) const {
    if (node.kind != YamlNode::Kind::scalar || node.text.empty() || node.text.starts_with('~') ||
        has_control(node.text)) {
      fail(node, what + " must be a whole path (\"~\" is not expanded)");
    }
    return reader_.resolved(node.text);
  }

  void read_store(SourceConfig& source) const {
    const YamlNode& name = need("store");
    if (name.kind != YamlNode::Kind::scalar || !is_plain_name(name.text))
      fail(name, "'store' is not the name of an entry: warder secret list shows them");
    source.store = name.text;
    if (const YamlNode* file = reader_.find(node_, "file")) source.file = path(*file, "'file'");
  }

  std::vector<std::string> arguments() const {
    const YamlNode& node = need("exec");
    if (node.kind != YamlNode::Kind::list || node.items.empty())
      fail(node, "'exec' must be a list of the program and its arguments: no shell reads it");
    if (node.items.size() > kMostArguments) fail(node, "'exec' has more than 64 parts");
    std::vector<std::string> argv;
    for (const YamlNode& item : node.items) argv.push_back(plain_text(item, "each part of 'exec'"));
    if (argv.front().starts_with('~'))
      fail(node.items.front(), "the program must be a whole path (\"~\" is not expanded)");
    // A name is looked for in PATH when the gateway starts.
    if (argv.front().find('/') != std::string::npos)
      argv.front() = reader_.resolved(argv.front()).string();
    return argv;
  }

  HelperFormat format(const YamlNode& node) const {
    for (const HelperFormat known :
         {HelperFormat::plain, HelperFormat::git_credential, HelperFormat::docker_credential}) {
      if (node.kind == YamlNode::Kind::scalar && node.text == to_string(known)) return known;
    }
    fail(node, "'format' must be plain, git-credential or docker-credential");
  }

  SourceConfig::Exec exec() const {
    SourceConfig::Exec exec;
    exec.argv = arguments();
    if (const YamlNode* node = reader_.find(node_, "format")) exec.format = format(*node);
    const YamlNode* host = reader_.find(node_, "host");
    const bool asks = exec.format != HelperFormat::plain;
    if (host != nullptr && !asks) fail(*host, "'host' goes with a format that asks for one");
    if (host == nullptr && asks)
      fail(need("exec"), "the format asks for a host: add host: HOST, as the helper knows it");
    if (host != nullptr) exec.host = plain_text(*host, "'host'");
    if (const YamlNode* node = reader_.find(node_, "timeout")) {
      exec.timeout = reader_.duration(*node, "timeout");
      if (exec.timeout > kLongestTimeout) fail(*node, "'timeout' is longer than 60s");
    }
    if (const YamlNode* node = reader_.find(node_, "cache")) exec.cache = cache(*node);
    if (const YamlNode* names = reader_.find(node_, "env")) {
      if (names->kind != YamlNode::Kind::list)
        fail(*names, "'env' of an exec is a list of names: [NAME, NAME]");
      for (const YamlNode& item : reader_.bounded(*names, "env"))
        exec.env.push_back(env_name(item, "a part of 'env'"));
    }
    return exec;
  }

  std::optional<std::chrono::milliseconds> cache(const YamlNode& node) const {
    if (node.kind == YamlNode::Kind::scalar && node.text == "once") return std::nullopt;
    const auto time = reader_.duration(node, "cache");
    if (time < kShortestCache) fail(node, "'cache' is shorter than 1s");
    return time;
  }

  const Reader& reader_;
  const YamlNode& node_;
  const std::string& in_;
};

}  // namespace

SourceConfig read_source(const Reader& reader, const YamlNode& node, const std::string& in) {
  return SourceReader(reader, node, in).read();
}

}  // namespace warder
