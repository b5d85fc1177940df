#include "secrets/placeholder.hpp"

#include <algorithm>
#include <array>

namespace warder {
namespace {

// What clients look at before they send anything. Public constants of the issuers, so they tell
// nothing.
constexpr std::array<std::string_view, 50> kPrefixes{"ghp_",          "gho_",
                                                     "ghu_",          "ghs_",
                                                     "ghr_",          "github_pat_",
                                                     "npm_",          "glpat-",
                                                     "glrt-",         "gldt-",
                                                     "sk-",           "sk-proj-",
                                                     "sk-svcacct-",   "sk-admin-",
                                                     "sk-ant-api03-", "sk-ant-admin01-",
                                                     "sk-ant-oat01-", "sk-or-v1-",
                                                     "AKIA",          "ASIA",
                                                     "xoxb-",         "xoxp-",
                                                     "xoxa-",         "xoxr-",
                                                     "xapp-1-",       "AIza",
                                                     "ya29.",         "sk_test_",
                                                     "sk_live_",      "rk_test_",
                                                     "rk_live_",      "pk_test_",
                                                     "pk_live_",      "whsec_",
                                                     "SG.",           "hf_",
                                                     "gsk_",          "pplx-",
                                                     "dapi",          "ntn_",
                                                     "lin_api_",      "pypi-AgEIcHlwaS5vcmc",
                                                     "pypi-",         "glsa_",
                                                     "hvs.",          "dp.pt.",
                                                     "ops_eyJ",       "dop_v1_",
                                                     "fo1_",          "sk-ant-"};

constexpr std::string_view kBase62 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kRandomChars = 22;  // 62^22 > 2^130

std::string_view known_prefix(std::string_view value) {
  std::string_view longest;
  for (const std::string_view prefix : kPrefixes) {
    const bool fits = value.size() > prefix.size() && value.starts_with(prefix);
    if (fits && prefix.size() > longest.size()) longest = prefix;
  }
  return longest;
}

// A longer placeholder stays congruent modulo 3, so that in base64 the text behind it keeps its
// place.
std::size_t placeholder_size(std::size_t value_size, std::size_t prefix_size) {
  std::size_t size = value_size;
  while (size < prefix_size + kRandomChars) size += 3;
  return size;
}

// Would the value show up where masked text (the placeholder) touches a slice of the value? An
// overlap within the kept prefix cannot: there the unmasked text is the same, and the value was
// found in it.
bool can_join(std::string_view placeholder, std::string_view value, std::size_t kept) {
  for (std::size_t n = 1; n <= std::min(placeholder.size(), value.size()); ++n) {
    if (placeholder.ends_with(value.substr(0, n))) return true;
    if (n > kept && value.ends_with(placeholder.substr(0, n))) return true;
  }
  return false;
}

}  // namespace

std::string make_placeholder(std::string_view value, Random& random) {
  const std::string_view prefix = known_prefix(value);
  std::string placeholder;
  do {
    placeholder = prefix;
    const std::size_t size = placeholder_size(value.size(), prefix.size());
    while (placeholder.size() < size) placeholder += kBase62[random.below(kBase62.size())];
  } while (can_join(placeholder, value, prefix.size()));
  return placeholder;
}

}  // namespace warder
