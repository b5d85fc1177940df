#include "cli/make_source.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "cli/store_access.hpp"
#include "secrets/source_env.hpp"
#include "secrets/source_exec.hpp"
#include "secrets/source_file.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

// Not the caller's: a directory of the workspace may stand in that, and what a helper calls would come from there.
constexpr std::string_view kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::array<const char*, 5> kUsual{"HOME", "USER", "LOGNAME", "LANG", "XDG_RUNTIME_DIR"};

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// Empty: there is none.
fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? fs::path(name) : fs::path();
  const char* path = std::getenv("PATH");
  std::string_view left = path != nullptr ? std::string_view(path) : kPath;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(':'), left.size());
    const fs::path directory(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
    // A relative entry means another place in each directory.
    if (directory.is_absolute() && is_program(directory / name)) return directory / name;
  }
  return {};
}

void add_variable(std::vector<WipedBytes>& to, std::string_view name, const char* value) {
  if (value == nullptr) return;
  WipedBytes text;
  const std::string_view view(value);
  text.reserve(name.size() + view.size() + 2);
  text.insert(text.end(), name.begin(), name.end());
  text.push_back('=');
  text.insert(text.end(), view.begin(), view.end());
  text.push_back('\0');
  to.push_back(std::move(text));
}

std::vector<WipedBytes> helper_variables(const std::vector<std::string>& named) {
  std::vector<WipedBytes> variables;
  bool has_path = false;
  for (const char* name : kUsual) add_variable(variables, name, std::getenv(name));
  for (const std::string& name : named) {
    has_path |= name == "PATH";
    add_variable(variables, name, std::getenv(name.c_str()));
  }
  if (!has_path) add_variable(variables, "PATH", std::string(kPath).c_str());
  return variables;
}

std::unique_ptr<SecretSource> exec_source_of(const SourceConfig::Exec& exec,
                                             const std::string& secret) {
  ExecParts parts;
  parts.secret = secret;
  parts.program = helper_program(exec);
  parts.argv = exec.argv;
  // Helpers of git and docker are told what to do by their last argument; "fill" is git's own way to ask all of them.
  const bool is_told =
      exec.argv.size() > 1 && (exec.argv.back() == "get" || exec.argv.back() == "fill");
  if (exec.format != HelperFormat::plain && !is_told) parts.argv.emplace_back("get");
  parts.format = exec.format;
  parts.host = exec.host;
  parts.timeout = exec.timeout;
  parts.cache = exec.cache;
  parts.variables = [named = exec.env] { return helper_variables(named); };
  return exec_source(std::move(parts));
}

}  // namespace

fs::path watched_file(const SourceConfig& source) {
  if (source.kind == SourceConfig::Kind::file) return source.file;
  if (source.kind != SourceConfig::Kind::store) return {};
  return source.file.empty() ? default_store_file() : source.file;
}

fs::path helper_program(const SourceConfig::Exec& exec) {
  const std::string& name = exec.argv.front();
  fs::path program = find_program(name);
  if (!program.empty()) return program;
  const bool named = name.find('/') != std::string::npos;
  throw ConfigError("the helper " + name +
                    (named ? " is no program that can be run" : " is in no directory of PATH"));
}

std::vector<fs::path> helper_files(const SourceConfig::Exec& exec) {
  std::vector<fs::path> files;
  if (fs::path program = find_program(exec.argv.front()); !program.empty())
    files.push_back(std::move(program));
  std::error_code ignored;
  for (std::size_t i = 1; i < exec.argv.size(); ++i) {
    const fs::path argument = exec.argv[i];
    if (argument.is_absolute() && fs::exists(argument, ignored)) files.push_back(argument);
  }
  return files;
}

std::unique_ptr<SecretSource> SourceMaker::make(const SourceConfig& source,
                                                const std::string& secret) {
  switch (source.kind) {
    case SourceConfig::Kind::env: return env_source(source.env, std::getenv(source.env.c_str()));
    case SourceConfig::Kind::file: return file_source(source.file);
    case SourceConfig::Kind::exec: return exec_source_of(source.exec, secret);
    case SourceConfig::Kind::store: break;
  }
  const fs::path file = watched_file(source);
  auto& store = stores_[file];
  if (!store) store = open_store_at(file, Asking::yes);
  return store_source(store, source.store);
}

}  // namespace warder
