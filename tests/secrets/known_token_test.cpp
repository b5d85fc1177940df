// What is a credential by its form alone, and what only looks a little like one.
#include "secrets/known_token.hpp"

#include <chrono>

#include "tests/secrets/shape_kinds.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using warder::test::jwt_of;
using warder::test::kAlnum;
using warder::test::Kind;
using warder::test::kinds;
using warder::test::SeededRandom;

TEST_CASE("every issuer's tokens are found wherever they stand in a file") {
  SeededRandom random(11);
  for (const Kind& kind : kinds()) {
    if (kind.shape == "hex" || kind.shape == "uuid" || kind.shape == "base62" ||
        kind.shape == "aws-secret-key")
      continue;
    INFO(kind.shape << ": " << kind.rule);
    for (int i = 0; i < 20; ++i) {
      const std::string token = kind.value(random);
      INFO(token);
      for (const std::string& text :
           {token, "{\"env\": {\"KEY\": \"" + token + "\"}}", "export KEY=" + token + "\n",
            "https://user:" + token + "@host/", "it is " + token + ".",
            R"("a\n)" + token + R"(\n")", std::string("\0\xff", 2) + token + '\0'}) {
        CHECK(holds_known_token(text));
      }
    }
  }
}

TEST_CASE("a token of a known prefix is found whatever its length") {
  SeededRandom random(12);
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    found += holds_known_token("key: sk-ant-sid01-" + random.text(40 + i % 60, kAlnum)) ? 1 : 0;
    CHECK(holds_known_token("sk-ant-api03-a1B2" + random.text(30, kAlnum)));
  }
  CHECK(found > 190);  // one without any digit is taken for words
}

TEST_CASE("a JWT and a private key are found") {
  const std::string token = jwt_of(R"({"alg":"HS256"})", R"({"sub":"me"})", std::string(43, 'x'));
  CHECK(holds_known_token("Authorization: Bearer " + token));
  CHECK_FALSE(holds_known_token(jwt_of(R"({"alg":"none"})", R"({"sub":"me"})", "")));
  for (const char* label : {"PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY",
                            "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"})
    CHECK(holds_known_token("x\n-----BEGIN " + std::string(label) + "-----\nMIIE\n"));
  CHECK_FALSE(holds_known_token("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n"));
  CHECK_FALSE(holds_known_token("-----BEGIN "));
}

TEST_CASE("what any text could be is no token") {
  for (const char* text :
       {"", "sk-", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sk-ant-api03-...", "sk-ant-…",
        "sk-ant-your-key-goes-here-please", "sk-learn-classification-models-v2",
        "hf_download_all_models_v2", "d41d8cd98f00b204e9800998ecf8427e",
        "123e4567-e89b-42d3-a456-426614174000",
        "https://docs.anthropic.com/en/docs/claude-code/settings", "eyJ.eyJ.eyJ", "AKIA",
        "someVeryLongIdentifierWith1Digit.andAnotherOne2",
        "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY00"}) {
    INFO(text);
    CHECK_FALSE(holds_known_token(text));
  }
}

TEST_CASE("attack: a text made to be searched for long costs time by its length alone") {
  constexpr std::size_t kSize = 16U << 20;
  for (const std::string piece :
       {"a", "sk-", "eyJ.", "-----BEGIN ", "ghp_", "0", "SG.a.", "\\nsk-"}) {
    std::string text;
    while (text.size() < kSize) text += piece;
    const auto begin = std::chrono::steady_clock::now();
    INFO(piece);
    CHECK_FALSE(holds_known_token(text));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  }
}
