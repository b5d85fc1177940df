#include "secrets/source_exec.hpp"

#include <algorithm>
#include <utility>

#include "secrets/helper_process.hpp"
#include "secrets/placeholder.hpp"

namespace warder {
namespace {

constexpr std::size_t kMostSaid = 500;

// Blanks the value out where the helper printed it beside.
void strike_out(WipedBytes& text, std::string_view value) {
  if (value.empty()) return;
  for (auto at = text.begin();;) {
    at = std::search(at, text.end(), value.begin(), value.end());
    if (at == text.end()) return;
    at = std::fill_n(at, value.size(), '*');
  }
}

WipedBytes variable(std::string_view name, std::string_view value) {
  WipedBytes bytes;
  bytes.reserve(name.size() + value.size() + 2);
  bytes.insert(bytes.end(), name.begin(), name.end());
  bytes.push_back('=');
  bytes.insert(bytes.end(), value.begin(), value.end());
  bytes.push_back('\0');
  return bytes;
}

class ExecSource final : public SecretSource {
 public:
  explicit ExecSource(ExecParts parts) : parts_(std::move(parts)) {}
  bool is_slow() const override { return true; }

  Reading read(std::stop_token stop) override {
    HelperCall call{parts_.program, parts_.argv, {}, {}, 0, parts_.timeout};
    if (parts_.variables) call.variables = parts_.variables();
    call.variables.push_back(variable("WARDER_SECRET", parts_.secret));
    call.input = helper_question(parts_.format, parts_.host);
    // Besides the value: a line break; in the formats, what else belongs to a credential.
    call.most = parts_.format == HelperFormat::plain ? kMaxSecretBytes + 2 : 2 * kMaxSecretBytes;
    HelperResult ran = run_helper(call, stop);
    Reading reading = reading_of(ran);
    const auto strike = [&](std::string_view value) { strike_out(ran.errors, value); };
    for (const auto& value : {reading.value, last_}) {
      if (value) value->reveal(strike);
    }
    if (!ran.errors.empty())
      reading.said = program() + " says: " + printable_text(as_view(ran.errors), kMostSaid);
    if (reading.value) last_ = reading.value;
    if (parts_.cache) reading.lifetime = *parts_.cache;
    return reading;
  }

 private:
  std::string program() const { return parts_.program.filename().string(); }

  Reading reading_of(const HelperResult& ran) const {
    const std::string name = "the helper " + program();
    if (!ran.problem.empty()) return Reading::failed(name + " " + ran.problem);
    auto found = helper_value(parts_.format, as_view(ran.output));
    if (const auto* problem = std::get_if<std::string>(&found))
      return Reading::failed(name + " " + *problem);
    return checked_value(as_view(std::get<WipedBytes>(found)), name);
  }

  const ExecParts parts_;
  std::shared_ptr<const SecretValue> last_;
};

}  // namespace

std::unique_ptr<SecretSource> exec_source(ExecParts parts) {
  return std::make_unique<ExecSource>(std::move(parts));
}

}  // namespace warder
