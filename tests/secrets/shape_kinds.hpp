// Tokens as their issuers make them, and what their tools and the scanners look for.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/encoding.hpp"
#include "tests/secrets/seeded_random.hpp"

namespace warder::test {

inline constexpr std::string_view kHex = "0123456789abcdef";
inline constexpr std::string_view kUrl64 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

inline std::string jwt_of(const std::string& header, const std::string& payload,
                          std::string signature) {
  const auto coded = [](const std::string& text) {
    return base64_encode(text, Base64Alphabet::url, Base64Padding::no);
  };
  return coded(header) + '.' + coded(payload) + '.' + std::move(signature);
}

// A token as its issuer makes them, of which a placeholder may keep nothing but what `rule` spells out.
struct Kind {
  std::string shape;
  std::string rule;
  std::function<std::string(SeededRandom&)> value;
};

inline std::vector<Kind> kinds() {
  const auto of = [](std::string before, std::size_t size, std::string_view alphabet,
                     std::string behind = "") {
    return [before, size, alphabet, behind](SeededRandom& random) {
      return before + random.text(size, alphabet) + behind;
    };
  };
  const auto openai = [](std::string before, std::size_t size) {
    return [before, size](SeededRandom& random) {
      return before + random.text(size, kUrl64) + "T3BlbkFJ" + random.text(size, kUrl64);
    };
  };
  return {
      {"github-pat", "ghp_[0-9a-zA-Z]{36}", of("ghp_", 36, kAlnum)},
      {"github-pat", "gho_[0-9a-zA-Z]{36}", of("gho_", 36, kAlnum)},
      {"github-pat", "ghu_[0-9a-zA-Z]{36}", of("ghu_", 36, kAlnum)},
      {"github-pat", "ghr_[0-9a-zA-Z]{36}", of("ghr_", 36, kAlnum)},
      {"github-app", "ghs_[0-9a-zA-Z]{36}", of("ghs_", 36, kAlnum)},
      {"github-fine-grained", "github_pat_[0-9a-zA-Z]{22}_[0-9a-zA-Z]{59}",
       [](SeededRandom& random) {
         return "github_pat_" + random.text(22, kAlnum) + "_" + random.text(59, kAlnum);
       }},
      {"npm", "npm_[a-zA-Z0-9]{36}", of("npm_", 36, kAlnum)},
      {"gitlab-pat", R"(glpat-[\w-]{20})", of("glpat-", 20, kUrl64)},
      {"gitlab-pat", R"(glpat-[0-9a-zA-Z_-]{41}\.[0-9a-z]{2}[0-9a-z]{7})",
       of("glpat-", 41, kUrl64, ".1k0abc12x")},
      {"anthropic", R"(sk-ant-api03-[a-zA-Z0-9_\-]{93}AA)", of("sk-ant-api03-", 93, kUrl64, "AA")},
      {"anthropic", R"(sk-ant-admin01-[a-zA-Z0-9_\-]{93}AA)",
       of("sk-ant-admin01-", 93, kUrl64, "AA")},
      {"anthropic", R"(sk-ant-oat01-[a-zA-Z0-9_\-]{93}AA)", of("sk-ant-oat01-", 93, kUrl64, "AA")},
      {"openai", "sk-proj-[A-Za-z0-9_-]{74}T3BlbkFJ[A-Za-z0-9_-]{74}", openai("sk-proj-", 74)},
      {"openai", "sk-proj-[A-Za-z0-9_-]{58}T3BlbkFJ[A-Za-z0-9_-]{58}", openai("sk-proj-", 58)},
      {"openai", "sk-svcacct-[A-Za-z0-9_-]{74}T3BlbkFJ[A-Za-z0-9_-]{74}",
       openai("sk-svcacct-", 74)},
      {"openai", "sk-[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20}",
       [](SeededRandom& random) {
         return "sk-" + random.text(20, kAlnum) + "T3BlbkFJ" + random.text(20, kAlnum);
       }},
      {"openrouter", "sk-or-v1-[0-9a-f]{64}", of("sk-or-v1-", 64, kHex)},
      {"aws-access-key", "AKIA[A-Z2-7]{16}", of("AKIA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")},
      {"aws-access-key", "ASIA[A-Z2-7]{16}", of("ASIA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")},
      {"aws-secret-key", "[A-Za-z0-9+/]{40}", of("", 40, "ABCDEFGHIJKLabcdefghijkl0123456789+/")},
      {"slack-bot", "xoxb-[0-9]{10,13}-[0-9]{10,13}-[a-zA-Z0-9]{24}",
       [](SeededRandom& random) {
         return "xoxb-" + random.text(10 + random.below(4), "0123456789") + "-" +
                random.text(10 + random.below(4), "0123456789") + "-" + random.text(24, kAlnum);
       }},
      {"slack-user", "xoxp-(?:[0-9]{10,13}-){3}[0-9a-f]{32}",
       [](SeededRandom& random) {
         return "xoxp-" + random.text(12, "0123456789") + "-" + random.text(13, "0123456789") +
                "-" + random.text(11, "0123456789") + "-" + random.text(32, kHex);
       }},
      {"slack-app", "xapp-1-A[A-Z0-9]+-[0-9]+-[a-f0-9]{64}",
       [](SeededRandom& random) {
         return "xapp-1-A" + random.text(10, "ABCDEFGHIJK0123456789") + "-" +
                random.text(13, "0123456789") + "-" + random.text(64, kHex);
       }},
      {"google-api-key", R"(AIza[\w-]{35})", of("AIza", 35, kUrl64)},
      {"stripe", "sk_test_[a-zA-Z0-9]{24}", of("sk_test_", 24, kAlnum)},
      {"stripe", "rk_live_[a-zA-Z0-9]{99}", of("rk_live_", 99, kAlnum)},
      {"sendgrid", R"(SG\.[\w-]{22}\.[\w-]{43})",
       [](SeededRandom& random) {
         return "SG." + random.text(22, kUrl64) + "." + random.text(43, kUrl64);
       }},
      {"twilio", "SK[0-9a-f]{32}", of("SK", 32, kHex)},
      {"twilio", "AC[0-9a-f]{32}", of("AC", 32, kHex)},
      {"hf", "hf_[a-zA-Z]{34}", of("hf_", 34, "abcdefghijklmnopqrstuvwxyzABCDEFGH")},
      {"groq", "gsk_[a-zA-Z0-9]{52}", of("gsk_", 52, kAlnum)},
      {"perplexity", "pplx-[a-zA-Z0-9]{48}", of("pplx-", 48, kAlnum)},
      {"databricks", "dapi[a-f0-9]{32}", of("dapi", 32, kHex)},
      {"databricks", R"(dapi[a-f0-9]{32}-\d)", of("dapi", 32, kHex, "-2")},
      {"notion", "ntn_[0-9]{11}[A-Za-z0-9]{35}",
       [](SeededRandom& random) {
         return "ntn_" + random.text(11, "0123456789") + random.text(35, kAlnum);
       }},
      {"linear", "lin_api_[a-zA-Z0-9]{40}", of("lin_api_", 40, kAlnum)},
      {"grafana", "glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}",
       [](SeededRandom& random) {
         return "glsa_" + random.text(32, kAlnum) + "_" + random.text(8, kHex);
       }},
      {"vault", R"(hvs\.[\w-]{95})", of("hvs.", 95, kUrl64)},
      {"vault", R"(hvs\.[\w-]{24})", of("hvs.", 24, kAlnum)},
      {"doppler", R"(dp\.pt\.[a-zA-Z0-9]{43})", of("dp.pt.", 43, kAlnum)},
      {"digitalocean", "dop_v1_[a-f0-9]{64}", of("dop_v1_", 64, kHex)},
      {"fly", R"(fo1_[\w-]{43})", of("fo1_", 43, kUrl64)},
      {"replicate", "r8_[A-Za-z0-9]{37}", of("r8_", 37, kAlnum)},
      {"xai", "xai-[A-Za-z0-9]{80}", of("xai-", 80, kAlnum)},
      {"uuid", "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
       [](SeededRandom& random) {
         return random.text(8, kHex) + "-" + random.text(4, kHex) + "-" + random.text(4, kHex) +
                "-" + random.text(4, kHex) + "-" + random.text(12, kHex);
       }},
      {"uuid", "[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}",
       [](SeededRandom&) { return std::string("123E4567-E89B-12D3-A456-426614174000"); }},
      {"hex", "[0-9a-f]{40}", of("", 40, kHex)},
      {"hex", "[0-9A-F]{64}", of("", 63, "0123456789ABCDEF", "F")},
      {"base62", "[0-9A-Za-z]{50}", of("", 50, kAlnum)},
      {"pypi", R"(pypi-AgEIcHlwaS5vcmc[\w-]{50,1000})", of("pypi-AgEIcHlwaS5vcmcC", 155, kAlnum)},
      {"pypi", R"(pypi-AgENdGVzdC5weXBpLm9yZw[\w-]{50,1000})",
       of("pypi-AgENdGVzdC5weXBpLm9yZwI", 160, kAlnum)},
      {"jwt", R"(ey[a-zA-Z0-9]{17,}\.ey[a-zA-Z0-9\/_-]{17,}\.[a-zA-Z0-9\/_-]{10,})",
       [](SeededRandom& random) {
         return jwt_of(R"({"alg":"HS256","typ":"JWT"})",
                       R"({"sub":"1234567890","exp":1893456000,"iat":1})",
                       random.text(42, kUrl64) + "A");
       }},
  };
}

}  // namespace warder::test
