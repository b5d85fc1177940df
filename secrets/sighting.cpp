#include "secrets/sighting.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/encoding.hpp"
#include "http/chars.hpp"
#include "secrets/basic.hpp"
#include "secrets/target_places.hpp"

namespace warder {
namespace {

using Counts = std::map<std::uint32_t, std::size_t>;
constexpr std::size_t kShownKey = 64;
constexpr int kDecodeRounds = 4;  // "%2525…": servers behind servers decode again

Counts count_in(std::string_view text, const Matcher& placeholders) {
  Counts counts;
  for (auto hit = placeholders.find(text); hit.pattern != Matcher::npos;
       hit = placeholders.find(text, hit.end)) {
    ++counts[hit.pattern];
  }
  return counts;
}

std::string percent_decode(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    plain += low >= 0 ? static_cast<char>(high * 16 + low) : text[i];
    if (low >= 0) i += 2;
  }
  return plain;
}

class Looker {
 public:
  explicit Looker(const Matcher& placeholders) : placeholders_(placeholders) {}

  void look_outside(std::string_view text, const std::string& place) {
    add(count_in(text, placeholders_), Sighting::Spot::elsewhere, place, Sighting::kNoField);
  }

  // In a path segment or a query value it is where a grant can allow it, if it is spelt as it is or
  // escaped once; what any further reading of the whole target shows is elsewhere.
  void look_at_target(std::string_view target) {
    Counts most;
    std::string text(target);
    for (int round = 0; round <= kDecodeRounds; ++round) {
      for (const auto& [pattern, times] : count_in(text, placeholders_))
        most[pattern] = std::max(most[pattern], times);
      std::string decoded = percent_decode(text);
      if (decoded == text) break;
      text = std::move(decoded);
    }
    if (most.empty()) return;
    Counts placed;
    for (const TargetHit& hit : target_hits(target, placeholders_)) {
      ++placed[hit.pattern];
      add_target_hit(hit);
    }
    for (const auto& [pattern, times] : most) {
      if (times <= placed[pattern]) continue;
      seen_.push_back({pattern, Sighting::Spot::elsewhere, "target", Sighting::kNoField,
                       times - placed[pattern]});
    }
  }

  void look_at_field(const HeaderField& field, std::size_t index) {
    look_outside(field.name, "field name");
    const std::string name = lower_case(field.name);
    const Counts raw = count_in(field.value, placeholders_);
    const bool for_proxy = name == "proxy-authorization";
    add(raw, for_proxy ? Sighting::Spot::elsewhere : Sighting::Spot::header, "header:" + name,
        index);
    if (for_proxy) look_at_basic(field.value, Sighting::Spot::elsewhere, name, index);
    // A text that holds a placeholder and also decodes to one cannot be swapped in both ways.
    const auto spot = raw.empty() ? Sighting::Spot::basic : Sighting::Spot::elsewhere;
    if (name == "authorization") look_at_basic(field.value, spot, name, index);
  }

  std::vector<Sighting> take() { return std::move(seen_); }

 private:
  void add(const Counts& counts, Sighting::Spot spot, const std::string& place, std::size_t field) {
    for (const auto& [pattern, times] : counts)
      seen_.push_back({pattern, spot, place, field, times});
  }

  void add_target_hit(const TargetHit& hit) {
    const bool query = hit.place.kind == Place::Kind::query;
    const auto spot = query ? Sighting::Spot::query : Sighting::Spot::path;
    for (Sighting& seen : seen_) {
      if (seen.pattern != hit.pattern || seen.spot != spot || seen.key != hit.place.name) continue;
      ++seen.times;
      return;
    }
    // The key is the sandbox's own word, and this is printed.
    const bool is_plain = hit.place.name.size() <= kShownKey && all_in(kTokenChar, hit.place.name);
    const std::string shown = query && !is_plain ? "query" : hit.place.str();
    seen_.push_back({hit.pattern, spot, shown, Sighting::kNoField, 1, hit.place.name});
  }

  void look_at_basic(std::string_view value, Sighting::Spot spot, const std::string& name,
                     std::size_t index) {
    const auto basic = find_basic(value);
    if (!basic) return;
    const auto plain = base64_decode(basic->text);
    if (!plain || spot != Sighting::Spot::basic) {
      add(count_in(decode_leniently(basic->text), placeholders_), Sighting::Spot::elsewhere,
          "header:" + name, index);
      return;
    }
    const std::string_view pair = *plain;
    const std::size_t colon = std::min(pair.find(':'), pair.size());
    Counts counts = count_in(pair.substr(0, colon), placeholders_);
    for (const auto& [pattern, times] : count_in(pair.substr(colon), placeholders_)) {
      counts[pattern] = std::max(counts[pattern], times);
    }
    add(counts, spot, "basic", index);
  }

  const Matcher& placeholders_;
  std::vector<Sighting> seen_;
};

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
  return lower;
}

std::vector<Sighting> sightings_in(const HeaderList& fields, const Matcher& placeholders) {
  Looker looker(placeholders);
  std::size_t index = 0;
  for (const HeaderField& field : fields) looker.look_at_field(field, index++);
  return looker.take();
}

std::vector<Sighting> sightings_in(const RequestHead& head, const Matcher& placeholders) {
  if (placeholders.empty()) return {};
  Looker looker(placeholders);
  looker.look_outside(head.method, "method");
  looker.look_at_target(head.target);
  std::size_t index = 0;
  for (const HeaderField& field : head.fields) looker.look_at_field(field, index++);
  return looker.take();
}

}  // namespace warder
