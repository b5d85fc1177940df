#include "secrets/placeholder.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "http/chars.hpp"
#include "secrets/shape.hpp"

namespace warder {
namespace {

// What clients look at before they send anything. Public constants of the issuers, so they tell
// nothing.
constexpr std::array<std::string_view, 55> kPrefixes{"ghp_",
                                                     "gho_",
                                                     "ghu_",
                                                     "ghs_",
                                                     "ghr_",
                                                     "github_pat_",
                                                     "npm_",
                                                     "glpat-",
                                                     "glrt-",
                                                     "gldt-",
                                                     "sk-",
                                                     "sk-proj-",
                                                     "sk-svcacct-",
                                                     "sk-admin-",
                                                     "sk-ant-api03-",
                                                     "sk-ant-admin01-",
                                                     "sk-ant-oat01-",
                                                     "sk-or-v1-",
                                                     "AKIA",
                                                     "ASIA",
                                                     "xoxb-",
                                                     "xoxp-",
                                                     "xoxa-",
                                                     "xoxr-",
                                                     "xapp-1-",
                                                     "AIza",
                                                     "ya29.",
                                                     "sk_test_",
                                                     "sk_live_",
                                                     "rk_test_",
                                                     "rk_live_",
                                                     "pk_test_",
                                                     "pk_live_",
                                                     "whsec_",
                                                     "SG.",
                                                     "hf_",
                                                     "gsk_",
                                                     "pplx-",
                                                     "dapi",
                                                     "ntn_",
                                                     "lin_api_",
                                                     "pypi-AgEIcHlwaS5vcmc",
                                                     "pypi-",
                                                     "glsa_",
                                                     "hvs.",
                                                     "dp.pt.",
                                                     "ops_eyJ",
                                                     "dop_v1_",
                                                     "fo1_",
                                                     "sk-ant-",
                                                     "xai-",
                                                     "hvb.",
                                                     "doo_v1_",
                                                     "dor_v1_",
                                                     "pypi-AgENdGVzdC5weXBpLm9yZw"};

constexpr std::size_t kRandomChars = 22;          // 62^22 > 2^130
constexpr std::string_view kObvious = "WARDER~";  // no issuer has a '~' in a token
constexpr double kFewestBits = 64;
// Far more than is needed where both ends are random; where they are literals, all of them can fail.
constexpr int kTries = 1000;

// A longer placeholder stays congruent modulo 3, so that in base64 the text behind it keeps its
// place.
std::size_t placeholder_size(std::size_t value_size, std::size_t prefix_size) {
  std::size_t size = value_size;
  while (size < prefix_size + kRandomChars) size += 3;
  return size;
}

std::string with_prefix(std::string_view prefix, std::size_t value_size, Random& random) {
  const std::size_t size = placeholder_size(value_size, prefix.size());
  return std::string(prefix) + random_base62(size - prefix.size(), random);
}

// Would the value show up where masked text (the placeholder) touches a slice of the value? An
// overlap within what both begin with cannot: there the unmasked text is the same, and the value was
// found in it.
bool can_join(std::string_view placeholder, std::string_view value) {
  const auto differ =
      std::mismatch(placeholder.begin(), placeholder.end(), value.begin(), value.end());
  const auto same = static_cast<std::size_t>(differ.first - placeholder.begin());
  for (std::size_t n = 1; n <= std::min(placeholder.size(), value.size()); ++n) {
    if (placeholder.ends_with(value.substr(0, n))) return true;
    if (n > same && value.ends_with(placeholder.substr(0, n))) return true;
  }
  return placeholder.find(value) != std::string_view::npos;
}

// Is the end of the value a beginning of `mark`?
bool can_begin(std::string_view mark, std::string_view value) {
  for (std::size_t n = 1; n <= mark.size(); ++n) {
    if (value.ends_with(mark.substr(0, n))) return true;
  }
  return false;
}

bool has_digit_or_upper(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return is_digit(c) || (c >= 'A' && c <= 'Z'); });
}

bool can_have_digit_or_upper(const PlaceholderSpec& spec) {
  if (!spec.form || spec.format == PlaceholderSpec::Format::obvious) return true;
  constexpr std::string_view kWanted = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return std::any_of(kWanted.begin(), kWanted.end(),
                     [&](char c) { return spec.form->can_make(c); });
}

std::string prefix_of(std::string_view value, const PlaceholderSpec& spec) {
  if (spec.form) return std::string(spec.form->prefix());
  if (!spec.shape.empty()) return shaped_prefix(spec.shape, value);
  const std::string inferred = inferred_prefix(value);
  return inferred.empty() ? std::string(known_prefix(value)) : inferred;
}

std::string candidate(std::string_view value, const PlaceholderSpec& spec, Random& random) {
  if (spec.format == PlaceholderSpec::Format::obvious) {
    std::string prefix = prefix_of(value, spec);
    if (prefix.empty() && can_begin(kObvious, value)) prefix = random_base62(1, random);
    return with_prefix(prefix.append(kObvious), value.size(), random);
  }
  if (spec.form) {
    return spec.form->fill(spec.form->counts_for(value, Template::Match::exact), random);
  }
  if (spec.shape.empty()) {
    auto inferred = make_inferred(value, random);
    return inferred ? *inferred : with_prefix(known_prefix(value), value.size(), random);
  }
  auto shaped = make_shaped(spec.shape, value, random);
  if (!shaped) {
    throw PlaceholderError("the placeholder's shape " + spec.shape +
                           " is made from the value, which is not of that shape");
  }
  return *shaped;
}

}  // namespace

std::string_view known_prefix(std::string_view value) {
  std::string_view longest;
  for (const std::string_view prefix : kPrefixes) {
    const bool fits = value.size() > prefix.size() && value.starts_with(prefix);
    if (fits && prefix.size() > longest.size()) longest = prefix;
  }
  return longest;
}

std::string make_placeholder(std::string_view value, const PlaceholderSpec& spec, Random& random) {
  const bool is_varied = can_have_digit_or_upper(spec);
  for (int tries = 0; tries < kTries; ++tries) {
    std::string placeholder = candidate(value, spec, random);
    if (can_join(placeholder, value)) continue;
    if (is_varied && !has_digit_or_upper(placeholder)) continue;
    return placeholder;
  }
  throw PlaceholderError(
      "the placeholder's shape makes texts that could be put together with parts of the value: "
      "choose another shape");
}

std::string make_placeholder(std::string_view value, Random& random) {
  return make_placeholder(value, PlaceholderSpec(), random);
}

std::optional<std::string> refuse_template(const Template& form, bool is_weak) {
  const double bits = form.most_bits();
  if (bits >= Template::kEnoughBits || (is_weak && bits >= kFewestBits)) return std::nullopt;
  const std::string found = std::to_string(static_cast<int>(std::floor(bits)));
  if (bits < kFewestBits) {
    return "it can hold " + found +
           " random bits, which can be guessed: give it 64 at the least, or 128";
  }
  return "it can hold " + found +
         " random bits: give it 128, or write weak: true where its tools take no longer one";
}

}  // namespace warder
