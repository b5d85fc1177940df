#include "protect/git_config.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "config/trust_store.hpp"
#include "secrets/known_token.hpp"

namespace warder {
namespace {

constexpr std::string_view kHidden = "hidden-by-warder";

char small(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += small(c);
  return out;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  std::vector<GitConfigEntry> read() {
    while (!at_end()) {
      const char c = text_[at_];
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if (c == '#' || c == ';') {
        skip_line();
      } else if (c == '[') {
        head();
      } else {
        entry();
      }
    }
    return std::move(entries_);
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  // [core], [remote "origin"], and of old [remote.origin].
  void head() {
    section_.clear();
    subsection_.clear();
    bool quoted = false;
    for (++at_; !at_end() && text_[at_] != '\n'; ++at_) {
      char c = text_[at_];
      if (!quoted && c == ']') {
        ++at_;
        break;
      }
      if (c == '"') {
        quoted = !quoted;
      } else if (quoted) {
        if (c == '\\' && at_ + 1 < text_.size()) c = text_[++at_];
        subsection_ += c;
      } else if (c != ' ' && c != '\t') {
        section_ += small(c);
      }
    }
    const std::size_t dot = section_.find('.');
    if (subsection_.empty() && dot != std::string::npos) {
      subsection_ = section_.substr(dot + 1);
      section_.resize(dot);
    }
  }

  void entry() {
    GitConfigEntry entry;
    entry.section = section_;
    entry.subsection = subsection_;
    entry.begin = at_;
    while (!at_end() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-'))
      entry.key += small(text_[at_++]);
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    if (entry.key.empty()) return skip_line();
    entry.value_begin = at_;
    if (!at_end() && text_[at_] == '=') {
      entry.value_begin = ++at_;
      entry.value = value();
    } else {
      skip_line();
    }
    entry.end = at_;
    entries_.push_back(std::move(entry));
  }

  // Up to the end of the line, or of the last of those that a backslash joins.
  std::string value() {
    std::string out;
    bool quoted = false;
    bool comment = false;
    std::size_t keep = 0;  // blanks at the end count only inside quotes
    for (; !at_end() && text_[at_] != '\n'; ++at_) {
      char c = text_[at_];
      if (comment) continue;
      if (!quoted && (c == '#' || c == ';')) {
        comment = true;
        continue;
      }
      if (c == '"') {
        quoted = !quoted;
        continue;
      }
      const bool blank = c == ' ' || c == '\t' || c == '\r';
      if (!quoted && blank && out.empty()) continue;
      if (c == '\\') {
        if (text_.substr(at_ + 1, 2) == "\r\n") ++at_;
        if (at_ + 1 >= text_.size()) break;
        c = text_[++at_];
        if (c == '\n') continue;
        c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' : c;
      }
      out += c;
      if (quoted || !blank) keep = out.size();
    }
    out.resize(std::min(keep, out.size()));
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string section_;
  std::string subsection_;
  std::vector<GitConfigEntry> entries_;
};

struct Runs {
  std::string_view section;
  std::string_view key;  // empty: every one
};
constexpr std::array kRuns{Runs{"core", "hookspath"},
                           Runs{"core", "sshcommand"},
                           Runs{"core", "pager"},
                           Runs{"core", "editor"},
                           Runs{"core", "askpass"},
                           Runs{"core", "gitproxy"},
                           Runs{"core", "alternaterefscommand"},
                           Runs{"core", "worktree"},
                           Runs{"alias", ""},
                           Runs{"pager", ""},
                           Runs{"hook", ""},
                           Runs{"protocol", ""},
                           Runs{"filter", "clean"},
                           Runs{"filter", "smudge"},
                           Runs{"filter", "process"},
                           Runs{"diff", "command"},
                           Runs{"diff", "textconv"},
                           Runs{"diff", "external"},
                           Runs{"merge", "driver"},
                           Runs{"mergetool", "cmd"},
                           Runs{"mergetool", "path"},
                           Runs{"difftool", "cmd"},
                           Runs{"difftool", "path"},
                           Runs{"guitool", "cmd"},
                           Runs{"browser", "cmd"},
                           Runs{"browser", "path"},
                           Runs{"man", "cmd"},
                           Runs{"man", "path"},
                           Runs{"web", "browser"},
                           Runs{"help", "browser"},
                           Runs{"instaweb", ""},
                           Runs{"credential", "helper"},
                           Runs{"include", "path"},
                           Runs{"includeif", "path"},
                           Runs{"sequence", "editor"},
                           Runs{"interactive", "difffilter"},
                           Runs{"gpg", "program"},
                           Runs{"gpg", "defaultkeycommand"},
                           Runs{"remote", "uploadpack"},
                           Runs{"remote", "receivepack"},
                           Runs{"remote", "vcs"},
                           Runs{"sendemail", ""},
                           Runs{"imap", "tunnel"},
                           Runs{"tar", "command"},
                           Runs{"trailer", "command"},
                           Runs{"trailer", "cmd"},
                           Runs{"uploadpack", "packobjectshook"},
                           Runs{"init", "templatedir"},
                           Runs{"lfs", "path"},
                           Runs{"lfs", "clean"},
                           Runs{"lfs", "smudge"},
                           Runs{"svn", "authorsprog"},
                           Runs{"gc", "recentobjectshook"}};

bool is_boolean(std::string_view value) {
  const std::string word = lower(value);
  constexpr std::array<std::string_view, 8> kWords{"",   "true", "false", "yes",
                                                   "on", "no",   "off",   "0"};
  return word == "1" || std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

constexpr std::array<std::string_view, 7> kSecretKeys{"token",      "password", "pass",  "smtppass",
                                                      "oauthtoken", "apikey",   "secret"};

bool is_credential(const GitConfigEntry& entry) {
  if (entry.value.empty() || entry.value.starts_with('$')) return false;
  if (std::find(kSecretKeys.begin(), kSecretKeys.end(), entry.key) != kSecretKeys.end())
    return true;
  const std::string value = lower(entry.value);
  const auto holds = [&](std::string_view part) { return value.find(part) != std::string::npos; };
  if (entry.key == "extraheader")
    return holds("authorization") || holds("token") || holds("cookie") || holds("key");
  if (entry.section == "credential" && entry.key == "helper" && holds("password=")) return true;
  // Of a URL only the user and the password go.
  return !holds("://") && holds_known_token(entry.value);
}

// What is kept in front of the placeholder, so that one still sees what it was.
std::string hidden(const GitConfigEntry& entry) {
  const std::size_t colon = entry.value.find(':');
  const bool is_header = entry.key == "extraheader" && colon != std::string::npos;
  std::string label;
  for (const char c : entry.value.substr(0, is_header ? colon : 0)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-') label += c;
  }
  return " \"" + (label.empty() ? "" : label + ": ") + std::string(kHidden) + "\"";
}

// "https://user:password@host" and "https://ghp_…@host", wherever they stand.
bool hide_in_urls(std::string& text) {
  bool found = false;
  for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at)) {
    at += 3;
    const std::size_t end = std::min(text.find_first_of("/ \t\r\n\"'?#", at), text.size());
    const std::size_t sign = text.rfind('@', end);
    if (sign == std::string::npos || sign < at || sign >= end) continue;
    const std::string user = text.substr(at, sign - at);
    const std::size_t colon = user.find(':');
    if (colon == std::string::npos && !holds_known_token(user)) continue;
    const std::string name = colon == std::string::npos || holds_known_token(user.substr(0, colon))
                                 ? std::string(kHidden)
                                 : user.substr(0, colon) + ":" + std::string(kHidden);
    if (name == user) continue;
    text.replace(at, user.size(), name);
    found = true;
  }
  return found;
}

}  // namespace

std::vector<GitConfigEntry> read_git_config(std::string_view text) { return Reader(text).read(); }

bool runs_code(const GitConfigEntry& entry) {
  if (entry.section == "core" && entry.key == "fsmonitor") return !is_boolean(entry.value);
  if (entry.section == "submodule" && entry.key == "update") return entry.value.starts_with('!');
  // A transport that is a command line.
  if (entry.value.find("ext::") != std::string::npos ||
      entry.subsection.find("ext::") != std::string::npos)
    return true;
  return std::any_of(kRuns.begin(), kRuns.end(), [&](const Runs& runs) {
    return runs.section == entry.section && (runs.key.empty() || runs.key == entry.key);
  });
}

std::string fingerprint(const GitConfigEntry& entry) {
  return sha256_hex(entry.name() + '\0' + entry.value);
}

std::optional<std::string> without_code(std::string_view text,
                                        const std::set<std::string>& allowed) {
  std::string out;
  std::size_t done = 0;
  for (const GitConfigEntry& entry : read_git_config(text)) {
    if (!runs_code(entry) || allowed.contains(fingerprint(entry))) continue;
    out += text.substr(done, entry.begin - done);
    done = entry.end;
  }
  if (done == 0) return std::nullopt;
  return out + std::string(text.substr(done));
}

std::optional<std::string> without_credentials(std::string_view text) {
  std::string out;
  std::size_t done = 0;
  for (const GitConfigEntry& entry : read_git_config(text)) {
    if (!is_credential(entry)) continue;
    out += text.substr(done, entry.value_begin - done);
    out += hidden(entry);
    done = entry.end;
  }
  out += text.substr(done);
  const bool in_urls = hide_in_urls(out);
  if (done == 0 && !in_urls) return std::nullopt;
  return out;
}

}  // namespace warder
