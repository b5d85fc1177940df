// placeholder: of a secret.
#include "config/load.hpp"
#include "config/summary.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

std::string with_placeholder(const std::string& placeholder) {
  return "version: 1\nsecrets:\n  tok: {source: {env: T}, placeholder: " + placeholder +
         "}\npolicies: {t: {grants: [{secret: tok, hosts: [api.test]}]}}\n";
}

SecretConfig read(const std::string& placeholder) {
  return parse_config(with_placeholder(placeholder), "w.yaml").secrets.at(0);
}

std::string problem(const std::string& placeholder) {
  try {
    read(placeholder);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a placeholder has a shape, a template or a format, and prints as it was read") {
  CHECK(read("{env: NN}").placeholder.shape.empty());
  CHECK(read("{env: NN, shape: github-pat}").placeholder.shape == "github-pat");
  CHECK(read("{env: NN, shape: github-pat}").placeholder_env == "NN");
  CHECK(read("{shape: jwt}").placeholder_env == "T");
  CHECK(read("{shape: \"jwt\"}").placeholder.shape == "jwt");
  CHECK(read("{format: obvious}").placeholder.format == PlaceholderSpec::Format::obvious);
  CHECK(read("{format: realistic}").placeholder.format == PlaceholderSpec::Format::realistic);
  const SecretConfig free = read(R"({env: NN, shape: {template: "a\\.[a-z0-9]{13}", weak: true}})");
  REQUIRE(free.placeholder.form);
  CHECK(free.placeholder.form->text() == R"(a\.[a-z0-9]{13})");
  CHECK(free.placeholder.is_weak);
  for (const char* placeholder : {"{env: NN, shape: aws-access-key, format: obvious}",
                                  R"({env: NN, shape: {template: "acme_\\w{24}"}})",
                                  R"({env: NN, shape: {template: "a[a-z\\-]{20}", weak: true}})"}) {
    CAPTURE(placeholder);
    const Config config = parse_config(with_placeholder(placeholder), "w.yaml");
    const std::string yaml = to_yaml(config, "t");
    CHECK(yaml.find(std::string("placeholder: ") + placeholder) != std::string::npos);
    CHECK(to_yaml(parse_config(yaml, "w.yaml"), "t") == yaml);
  }
  CHECK(summary(parse_config(with_placeholder("{env: NN, shape: uuid, format: obvious}"), "w.yaml"))
            .find("(from $T, as $NN, shape uuid, obvious)") != std::string::npos);
  CHECK(summary(parse_config(with_placeholder("{shape: {template: \"x[0-9a-f]{40}\"}}"), "w.yaml"))
            .find("(from $T, as $T, shape \"x[0-9a-f]{40}\")") != std::string::npos);
}

TEST_CASE("a placeholder that cannot be: where, why, and never what stands there") {
  CHECK(problem("{env: NN, shape: github_pat}") ==
        "w.yaml:3:57: placeholder of secret 'tok': unknown shape: did you mean 'github-pat'?");
  CHECK(problem("{env: NN, shape: ghp_theValueItselfByMistake}") ==
        "w.yaml:3:57: placeholder of secret 'tok': unknown shape: docs/masking.md lists those that "
        "there are");
  CHECK(problem("{env: NN, shap: hex}") ==
        "w.yaml:3:50: unknown key 'shap' in a placeholder: did you mean 'shape'?");
  CHECK(problem("{env: NN, shape: }") ==
        "w.yaml:3:50: 'shape' has no value: give it one, or remove the key");
  CHECK(problem("{env: NN, shape: [hex]}") ==
        "w.yaml:3:57: placeholder of secret 'tok': 'shape' must be a name such as github-pat, or "
        "{template: \"…\"}");
  CHECK(problem("{env: NN, shape: {}}") == "w.yaml:3:57: a shape has no 'template': add it");
  CHECK(problem("{env: NN, shape: {tmpl: x}}") ==
        "w.yaml:3:58: unknown key 'tmpl' in a shape: known are template, weak");
  CHECK(problem("{env: NN, shape: {template: [x]}}") ==
        "w.yaml:3:68: 'template' must be text, not a list");
  CHECK(problem("{env: NN, shape: {template: \"acme-[a-z\"}}") ==
        "w.yaml:3:68: placeholder of secret 'tok': template, character 6: the class has no end: a "
        "']' is missing");
  CHECK(problem("{env: NN, shape: {template: \"acme theValue\"}}") ==
        "w.yaml:3:68: placeholder of secret 'tok': template, character 5: only letters, digits and "
        "- . _ ~ can stand "
        "in a placeholder");
  CHECK(problem("{env: NN, shape: {template: \"theValueItself\"}}") ==
        "w.yaml:3:68: placeholder of secret 'tok': template: it can hold 0 random bits, which can "
        "be guessed: give it "
        "64 at the least, or 128");
  CHECK(problem("{env: NN, shape: {template: \"[a-z]{20}\"}}") ==
        "w.yaml:3:68: placeholder of secret 'tok': template: it can hold 94 random bits: give it "
        "128, or write weak: "
        "true where its tools take no longer one");
  CHECK(problem("{env: NN, shape: {template: \"[a-z]{20}\", weak: yes}}") ==
        "w.yaml:3:87: 'weak' must be true or false, not \"yes\"");
  CHECK(problem("{env: NN, shape: {template: \"[a-z]{20}\", weak: true}}") == "none");
  CHECK(problem("{env: NN, shape: {template: \"[a-z]{13}\", weak: true}}").find("61 random bits") !=
        std::string::npos);
  CHECK(problem("{env: NN, format: ghp_theValue}") ==
        "w.yaml:3:58: placeholder of secret 'tok': 'format' must be realistic or obvious");
  CHECK(problem("{env: NN, format: [obvious]}").ends_with("'format' must be realistic or obvious"));
  CHECK(problem("{}") == "w.yaml:3:40: a placeholder has no 'env': add it");
  CHECK_THROWS_WITH(
      parse_config("version: 1\nsecrets: {tok: {source: {file: /f}, placeholder: {shape: hex}}}\n",
                   "w.yaml"),
      "w.yaml:2:50: a placeholder has no 'env': add it");
}
