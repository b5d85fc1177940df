#include "config/sections.hpp"
#include "config/spelling.hpp"

// No sentence here quotes what stands in a source: a value pasted there by mistake must not be printed.
namespace warder {
namespace {

void refuse_source_key(const Reader& reader, const YamlEntry& entry, const std::string& in) {
  if (entry.key == "env" || entry.key == "file") return;
  for (const char* later : {"exec", "store", "vault"}) {
    if (entry.key == later) {
      reader.fail(entry.place, in + ": '" + entry.key + "' is not there yet: use env or file");
    }
  }
  const std::string meant = nearest(entry.key, {"env", "file"});
  reader.fail(entry.place,
              in + " has an unknown key: " +
                  (meant.empty() ? "write {env: NAME} or {file: PATH}, never the value itself"
                                 : "did you mean '" + meant + "'?"));
}

}  // namespace

SourceConfig read_source(const Reader& reader, const YamlNode& node, const std::string& in) {
  if (node.kind != YamlNode::Kind::map) {
    reader.fail(node.place, in + " must be {env: NAME} or {file: PATH}, never the value itself");
  }
  for (const YamlEntry& entry : node.entries) refuse_source_key(reader, entry, in);
  if (node.entries.size() != 1) {
    reader.fail(node.place, in + (node.entries.empty() ? " is empty" : " has both env and file") +
                                ": write exactly one of {env: NAME} and {file: PATH}");
  }
  SourceConfig source;
  if (const YamlNode* env = reader.find(node, "env")) {
    source.kind = SourceConfig::Kind::env;
    if (env->kind == YamlNode::Kind::scalar) source.env = env->text;
    if (!is_env_name(source.env)) {
      reader.fail(env->place,
                  in + ": 'env' is not the name of an environment variable: write a name such "
                       "as GITHUB_TOKEN, never the value itself");
    }
    return source;
  }
  source.kind = SourceConfig::Kind::file;
  const YamlNode& file = *reader.find(node, "file");
  if (file.kind != YamlNode::Kind::scalar || file.text.empty() || file.text.starts_with('~') ||
      has_control(file.text)) {
    reader.fail(file.place, in + ": 'file' must be a whole path (\"~\" is not expanded)");
  }
  source.file = reader.resolved(file.text);
  return source;
}

}  // namespace warder
