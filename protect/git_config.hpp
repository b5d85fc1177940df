// A git configuration as text: what in it makes git run a program, and what in it is a credential. Nothing is run.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace warder {

struct GitConfigEntry {
  std::string section;     // in small letters
  std::string subsection;  // as it is written, without escapes
  std::string key;         // in small letters
  std::string value;       // without quotes and escapes; empty when there is none
  std::size_t begin = 0;   // of the entry in the text; its section's head is not part of it
  std::size_t value_begin = 0;
  std::size_t end = 0;

  std::string name() const {
    return section + (subsection.empty() ? "." : "." + subsection + ".") + key;
  }
};

// As git reads it; lines that git would refuse are passed over.
std::vector<GitConfigEntry> read_git_config(std::string_view text);

// git runs a program that the entry names, or reads more of such entries, or works in another tree, because of it.
bool runs_code(const GitConfigEntry& entry);

// Without the entries that run code, unless `allowed` has what fingerprint() says of them. nullopt: there is none.
std::string fingerprint(const GitConfigEntry& entry);
std::optional<std::string> without_code(std::string_view text,
                                        const std::set<std::string>& allowed);

// The same configuration with placeholders for passwords and tokens. nullopt: it holds none.
std::optional<std::string> without_credentials(std::string_view text);

}  // namespace warder
