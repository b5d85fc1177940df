#include "secrets/source_env.hpp"

#include <utility>

namespace warder {
namespace {

class EnvSource final : public SecretSource {
 public:
  explicit EnvSource(Reading reading) : reading_(std::move(reading)) {}
  Reading read(std::stop_token) override { return reading_; }

 private:
  Reading reading_;
};

}  // namespace

std::unique_ptr<SecretSource> env_source(const std::string& name, const char* value) {
  if (value == nullptr)
    return std::make_unique<EnvSource>(Reading::failed("the variable " + name + " is not set"));
  return std::make_unique<EnvSource>(checked_value(value, "the environment variable " + name));
}

}  // namespace warder
