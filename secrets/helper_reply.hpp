// What credential helpers are asked and how they answer: git's, docker's, and programs that print a value. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "secrets/wiped.hpp"

namespace warder {

enum class HelperFormat : std::uint8_t {
  plain,              // the value and at most one line break
  git_credential,     // lines "key=value"; the value is that of `password`
  docker_credential,  // a JSON object; the value is its `Secret`
};

std::string_view to_string(HelperFormat format);  // "git-credential", as the configuration has it

// What it gets on its standard input to answer for `host`: "github.com", for docker the server as docker names it.
std::string helper_question(HelperFormat format, const std::string& host);

// The value in its answer, or the end of a sentence "the helper …" that quotes nothing of it. `answer` is hostile: at most
// 64 KiB. The value is not checked yet.
std::variant<WipedBytes, std::string> helper_value(HelperFormat format, std::string_view answer);

}  // namespace warder
