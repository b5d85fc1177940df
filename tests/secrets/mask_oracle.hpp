// What the mask of a session whose lengths stay gives for a whole text, slowly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "secrets/encodings.hpp"
#include "secrets/respell.hpp"
#include "secrets/spelling.hpp"

namespace warder::test {

// Every form tried at every byte, and at every character that is read.
class MaskOracle {
 public:
  struct Secret {
    std::string value;
    std::string placeholder;
  };
  using Secrets = std::vector<Secret>;

  explicit MaskOracle(const Secrets& secrets) {
    std::vector<std::string> patterns;
    for (const Secret& secret : secrets) {
      for (EncodedForm& form : encoded_forms(secret.value, secret.placeholder)) {
        patterns.push_back(form.pattern);
        forms_.push_back(std::move(form));
      }
    }
    for (const std::string& pattern : patterns) {
      for (const char c : pattern) wanted_[static_cast<unsigned char>(c)] = true;
    }
  }

  std::string masked(const std::string& text) const {
    std::string out;
    std::size_t covered = 0;
    for (const Match& match : matches(text)) {
      if (match.begin >= covered) {
        out.append(text, covered, match.begin - covered);
        const std::string found = text.substr(match.begin, match.end - match.begin);
        std::string stands = match.form->replacement;
        if (match.is_spelled) stands = respell(found, wanted_, stands, Lengths::keep);
        if (stands.size() != found.size()) stands.assign(found.size(), '*');
        out += stands;
      } else if (match.end > covered) {
        out.append(match.end - covered, '*');
      }
      covered = std::max(covered, match.end);
    }
    return out + text.substr(covered);
  }

 private:
  struct Match {
    std::size_t begin;
    std::size_t end;
    bool is_spelled;
    const EncodedForm* form;
  };

  std::vector<Match> matches(std::string_view text) const {
    std::vector<Match> all;
    std::vector<std::size_t> begins;
    std::string characters;
    for (std::size_t at = 0; at < text.size();) {
      const Unit unit = read_unit(text.substr(at), wanted_, TextEnd::final);
      begins.push_back(at);
      characters += unit.character;
      at += unit.kind == Unit::Kind::raw ? 1 : unit.size;
    }
    begins.push_back(text.size());
    for (const EncodedForm& form : forms_) {
      const std::size_t size = form.pattern.size();
      for (std::size_t at = text.find(form.pattern); at < text.size();
           at = text.find(form.pattern, at + 1)) {
        all.push_back({at, at + size, false, &form});
      }
      for (std::size_t at = characters.find(form.pattern); at < characters.size();
           at = characters.find(form.pattern, at + 1)) {
        all.push_back({begins[at], begins[at + size], true, &form});
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Match& a, const Match& b) {
      return std::tie(a.begin, b.end, a.is_spelled) < std::tie(b.begin, a.end, b.is_spelled);
    });
    return all;
  }

  std::vector<EncodedForm> forms_;
  CharClass wanted_{};
};

}  // namespace warder::test
