// Reads tests/corpus/smuggling/*.txt, which says what its columns mean. The end-to-end tests read the
// same files (tests/e2e/support/smuggling.py).
#pragma once

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "http/chars.hpp"

namespace warder::test {

struct SmugglingCase {
  std::string name;
  std::string verdict;
  std::string bytes;
};

class SmugglingCorpus {
 public:
  // Throws where the file is not there or a line is not one of ours.
  static std::vector<SmugglingCase> load(const std::string& file) {
    const auto path = std::filesystem::path(WARDER_SOURCE_DIR) / "tests/corpus/smuggling" / file;
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot read " + path.string());
    std::vector<SmugglingCase> cases;
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line.front() == '#') continue;
      const std::size_t first = line.find('|');
      const std::size_t second = line.find("| ", first + 1);
      if (second == std::string::npos) throw std::runtime_error("not a case: " + line);
      cases.push_back(
          {std::string(trim(std::string_view(line).substr(0, first))),
           std::string(trim(std::string_view(line).substr(first + 1, second - first - 1))),
           expand(line.substr(second + 2))});
    }
    return cases;
  }

 private:
  static std::string expand(std::string text) {
    for (const auto& [macro, meaning] :
         {std::pair{"{get}", "GET {path} HTTP/1.1\\r\\nHost: api.test\\r\\n"},
          {"{post}", "POST {path} HTTP/1.1\\r\\nHost: api.test\\r\\n"},
          {"{evil}", "GET /evil HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n"},
          {"{ok}", "HTTP/1.1 200 OK\\r\\n"},
          {"{bad}", "HTTP/1.1 200 EVIL\\r\\nContent-Length: 4\\r\\n\\r\\nEVIL"},
          {"{path}", "/t/0"},
          {"{scheme}", "https"},
          {"{port}", "443"}}) {
      replace(text, macro, meaning);
    }
    return unescape(repeat(text));
  }

  static void replace(std::string& text, std::string_view what, std::string_view with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
      text.replace(at, what.size(), with);
    }
  }

  // {N*X} is X, N times.
  static std::string repeat(const std::string& text) {
    const std::size_t open = text.find('{');
    const std::size_t star = text.find('*', open);
    const std::size_t close = text.find('}', open);
    if (open == std::string::npos || star > close || close == std::string::npos) return text;
    std::size_t times = 0;
    std::from_chars(text.data() + open + 1, text.data() + star, times);
    std::string out = text.substr(0, open);
    for (std::size_t i = 0; i < times; ++i) out.append(text, star + 1, close - star - 1);
    return out + repeat(text.substr(close + 1));
  }

  static std::string unescape(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '\\') {
        out += text[at];
        continue;
      }
      switch (text.at(++at)) {
        case 'r': out += '\r'; break;
        case 'n': out += '\n'; break;
        case 't': out += '\t'; break;
        case 'x':
          out += static_cast<char>(hex_value(text.at(at + 1)) * 16 + hex_value(text.at(at + 2)));
          at += 2;
          break;
        default: out += text[at];
      }
    }
    return out;
  }
};

}  // namespace warder::test
