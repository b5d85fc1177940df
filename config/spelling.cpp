#include "config/spelling.hpp"

#include <algorithm>
#include <numeric>

#include "http/chars.hpp"

namespace warder {
namespace {

constexpr std::size_t kMaxWord = 64;

// Levenshtein, case apart.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t replaced = diagonal + (to_lower(a[i]) == to_lower(b[k]) ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({replaced, diagonal + 1, row[k] + 1});
    }
  }
  return row.back();
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kMaxWord) return "";
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 2);
  for (const std::string& candidate : known) {
    const std::size_t d = distance(word, candidate);
    if (d < least || (d == least && best.empty() && d < candidate.size() && d < word.size())) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         std::string_view otherwise) {
  const std::string best = nearest(word, known);
  if (!best.empty()) return ": did you mean '" + best + "'?";
  if (known.empty() || known.size() > 12) return std::string(otherwise);
  return ": known are " + joined(known);
}

}  // namespace warder
