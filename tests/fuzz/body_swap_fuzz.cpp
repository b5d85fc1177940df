// Invariants of a swap in JSON and in forms, whatever the body: any split leaves the same bytes, or is refused for the same
// reason; no placeholder leaves as it is spelt; and where Boost.JSON takes the body, it takes what leaves, which differs in
// nothing but strings that held the placeholder. The first byte says which format and how to split.
#include <array>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "secrets/body_swap.hpp"

namespace {

using namespace warder;
namespace json = boost::json;

constexpr std::string_view kPlaceholder = "PH_f00";
constexpr std::string_view kValue = "REAL\"v\\a&=";

struct Fixture {
  std::unique_ptr<SessionSecrets> secrets;
  std::array<BodyPlan, 3> plans;
};

Fixture make() {
  const auto host = std::get<HostPattern>(HostPattern::parse("a.test"));
  Grant grant{"s",
              {host},
              {{Place::Kind::body_json, "/t"},
               {Place::Kind::body_json, "/a/0/t"},
               {Place::Kind::body_form, "t"}},
              "f:1"};
  grant.foreign = Grant::Foreign::pass;
  grant.max = 3;
  std::vector<Credential> credentials;
  credentials.push_back(
      {"s", 1, std::make_shared<const SecretValue>(kValue), std::string(kPlaceholder)});
  Fixture made{std::make_unique<SessionSecrets>(std::move(credentials), std::vector<Grant>{grant}),
               {}};
  const Authority authority{Scheme::https, HostName::parse("a.test").value(), 443};
  const char* const types[] = {"application/json", "application/x-www-form-urlencoded",
                               "application/json"};
  for (std::size_t i = 0; i < made.plans.size(); ++i) {
    RequestHead head;
    head.method = "POST";
    head.target = "/";
    head.fields.add("Content-Type", types[i]);
    made.plans[i] = std::get<BodyPlan>(plan_body(head, authority, *made.secrets, {}));
  }
  // The third: also anywhere.
  made.plans[2].places.push_back({{Place::Kind::body, ""}, {0}, Grant::Foreign::refuse});
  return made;
}

struct Outcome {
  std::string out;
  std::string reason;
};

Outcome run(const Fixture& fixture, const BodyPlan& plan, std::string_view body,
            std::size_t piece) {
  BodySwap swap(*fixture.secrets, plan);
  WipedBytes out;
  bool good = true;
  for (std::size_t at = 0; good && at < body.size(); at += piece)
    good = swap.feed(body.substr(at, piece), out);
  if (good) good = swap.finish(out);
  if (good != !swap.refusal().has_value()) std::abort();
  return {std::string(as_view(out)), good ? "" : std::string(to_string(swap.refusal()->reason))};
}

// Is `after` what `before` becomes?
bool differs_only_there(const json::value& before, const json::value& after) {
  if (before.kind() != after.kind()) return false;
  if (before.is_string()) {
    std::string text(before.get_string());
    for (std::size_t at = 0; (at = text.find(kPlaceholder, at)) != std::string::npos;
         at += kValue.size())
      text.replace(at, kPlaceholder.size(), kValue);
    return text == after.get_string();
  }
  if (before.is_array()) {
    const auto& a = before.get_array();
    const auto& b = after.get_array();
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!differs_only_there(a[i], b[i])) return false;
    return true;
  }
  if (before.is_object()) {
    const auto& a = before.get_object();
    const auto& b = after.get_object();
    if (a.size() != b.size()) return false;
    auto other = b.begin();
    for (const auto& each : a) {
      if (each.key() != other->key() || !differs_only_there(each.value(), other->value()))
        return false;
      ++other;
    }
    return true;
  }
  return before == after;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fixture fixture = make();
  if (size == 0) return 0;
  const std::size_t which = data[0] % fixture.plans.size();
  const std::size_t piece = 1 + data[0] / fixture.plans.size() % 17;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const BodyPlan& plan = fixture.plans[which];
  const Outcome whole = run(fixture, plan, body, body.empty() ? 1 : body.size());
  for (const std::size_t n : {std::size_t{1}, piece}) {
    const Outcome cut = run(fixture, plan, body, n);
    if (cut.reason != whole.reason) std::abort();
    if (cut.reason.empty() && cut.out != whole.out) std::abort();
  }
  if (!whole.reason.empty()) return 0;
  if (whole.out.find(kPlaceholder) != std::string::npos) std::abort();
  if (plan.format != BodyPlan::Format::json) return 0;
  boost::system::error_code error;
  const json::value before = json::parse(body, error);
  if (error) return 0;
  const json::value after = json::parse(whole.out, error);
  // A key may hold it where it may stand anywhere; then names change, and are not compared.
  const bool key = which == 2;
  if (error || (!key && !differs_only_there(before, after))) std::abort();
  return 0;
}
