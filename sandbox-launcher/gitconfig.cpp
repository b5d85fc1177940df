#include "sandbox-launcher/gitconfig.hpp"

#include <algorithm>
#include <cctype>

namespace warder {
namespace {

std::string_view trim(std::string_view text) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// The value as git reads it: quotes taken off, escapes taken back, a comment cut. Control characters are dropped.
std::string unquote(std::string_view raw) {
  std::string value;
  bool quoted = false;
  std::size_t to_keep = 0;  // blanks at the end count only inside quotes
  for (std::size_t at = 0; at < raw.size(); ++at) {
    char c = raw[at];
    if (!quoted && (c == '#' || c == ';')) break;
    if (c == '"') {
      quoted = !quoted;
      continue;
    }
    if (c == '\\') {
      if (++at == raw.size()) break;
      c = raw[at];
      if (c != '"' && c != '\\') continue;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) continue;
    value += c;
    if (quoted || c != ' ') to_keep = value.size();
  }
  value.resize(to_keep);
  return value;
}

std::string quote(std::string_view value) {
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

struct Person {
  std::string name;
  std::string email;
};

Person read_person(std::string_view config) {
  Person person;
  bool in_user = false;
  while (!config.empty()) {
    const std::size_t end = std::min(config.find('\n'), config.size());
    std::string_view line = trim(config.substr(0, end));
    config.remove_prefix(std::min(end + 1, config.size()));
    if (line.starts_with('[')) {
      const std::size_t close = std::min(line.find(']'), line.size());
      in_user = lower(trim(line.substr(1, close - 1))) == "user";
      line = trim(line.substr(std::min(close + 1, line.size())));
    }
    const std::size_t equals = line.find('=');
    if (!in_user || equals == std::string_view::npos) continue;
    const std::string key = lower(trim(line.substr(0, equals)));
    if (key == "name") person.name = unquote(trim(line.substr(equals + 1)));
    if (key == "email") person.email = unquote(trim(line.substr(equals + 1)));
  }
  return person;
}

}  // namespace

std::string sanitised_gitconfig(std::string_view host_config) {
  const Person person = read_person(host_config);
  std::string config;
  if (!person.name.empty() || !person.email.empty()) config += "[user]\n";
  if (!person.name.empty()) config += "\tname = " + quote(person.name) + "\n";
  if (!person.email.empty()) config += "\temail = " + quote(person.email) + "\n";
  return config + "[safe]\n\tdirectory = *\n";
}

}  // namespace warder
