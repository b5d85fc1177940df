#include "secrets/swap.hpp"

#include <algorithm>
#include <utility>

#include "base/encoding.hpp"
#include "secrets/basic.hpp"
#include "secrets/sighting.hpp"

namespace warder {
namespace {

using Spot = Sighting::Spot;

bool names_place(const Grant& grant, const Place& place) {
  return std::find(grant.at.begin(), grant.at.end(), place) != grant.at.end();
}

bool is_legal(const Sighting& seen, const std::string& secret,
              const std::vector<const Grant*>& grants) {
  if (seen.spot == Spot::elsewhere) return false;
  const bool basic = seen.spot == Spot::basic;
  const std::string name = basic ? "authorization" : seen.place.substr(seen.place.find(':') + 1);
  if (is_reflection_prone(name)) return false;
  return std::any_of(grants.begin(), grants.end(), [&](const Grant* grant) {
    if (grant->secret != secret) return false;
    return names_place(*grant, {Place::Kind::header, name}) ||
           (basic && names_place(*grant, {Place::Kind::basic, ""}));
  });
}

// The plan in the making: one request, one destination.
class Planner {
 public:
  Planner(const RequestHead& head, const Authority& authority, const SessionSecrets& secrets)
      : head_(head),
        authority_(authority),
        secrets_(secrets),
        grants_(secrets.grants_for(authority.host)),
        seen_(sightings_in(head, secrets.placeholders())) {}

  std::optional<SwapRefusal> refusal() const {
    if (auto refused = revoked()) return refused;
    if (auto refused = wrong_host()) return refused;
    if (auto refused = wrong_request()) return refused;
    if (auto refused = wrong_place()) return refused;
    if (auto refused = too_many()) return refused;
    if (auto refused = foreign_placeholder()) return refused;
    if (auto refused = foreign_credential()) return refused;
    return unavailable();
  }

  SwapPlan plan() const {
    SwapPlan plan;
    for (const Sighting& seen : seen_) {
      const Credential& credential = credential_of(seen);
      plan.uses.push_back({credential.name, credential.version, seen.place});
    }
    return plan;
  }

 private:
  const Credential& credential_of(const Sighting& seen) const {
    return secrets_.credentials()[seen.pattern];
  }

  SwapRefusal refuse(Reason reason, const Sighting& seen, std::string suggestion) const {
    return {reason, credential_of(seen).name, seen.place, std::move(suggestion)};
  }

  std::optional<SwapRefusal> revoked() const {
    for (const Sighting& seen : seen_) {
      if (!credential_of(seen).is_revoked) continue;
      if (credential_of(seen).is_expired)
        return refuse(Reason::secret_expired, seen, "refresh it: its life is over");
      return refuse(Reason::secret_revoked, seen, "ask for a new one: this one is not coming back");
    }
    return std::nullopt;
  }

  std::optional<SwapRefusal> wrong_host() const {
    for (const Sighting& seen : seen_) {
      const std::string& name = credential_of(seen).name;
      const auto grants_it = [&](const Grant* grant) { return grant->secret == name; };
      if (std::any_of(grants_.begin(), grants_.end(), grants_it)) continue;
      return refuse(Reason::placeholder_wrong_host, seen,
                    "if " + authority_.host.str() +
                        " shall have it: add it to the hosts of a grant of secret " + name);
    }
    return std::nullopt;
  }

  std::optional<SwapRefusal> wrong_request() const {
    if (seen_.empty()) return std::nullopt;
    if (authority_.scheme != Scheme::https) {
      return refuse(Reason::placeholder_wrong_place, seen_.front(),
                    "secrets are used in https only: send the request to https://" +
                        authority_.host.uri_host());
    }
    if (head_.method == "TRACE" || head_.method == "OPTIONS") {
      return refuse(
          Reason::placeholder_wrong_place, seen_.front(),
          "servers answer " + head_.method + " with what they were sent: leave the credential out");
    }
    return std::nullopt;
  }

  std::optional<SwapRefusal> wrong_place() const {
    for (const Sighting& seen : seen_) {
      const std::string& name = credential_of(seen).name;
      if (is_legal(seen, name, grants_)) continue;
      return refuse(Reason::placeholder_wrong_place, seen, suggestion_for(seen, name));
    }
    return std::nullopt;
  }

  static std::string suggestion_for(const Sighting& seen, const std::string& name) {
    if (seen.spot == Spot::elsewhere) return "send it in a header field that its grant names";
    const std::string field = seen.place.substr(seen.place.find(':') + 1);
    if (is_reflection_prone(field)) {
      return "servers reflect the field " + field + ": send it in a field such as authorization";
    }
    return "if it belongs there: add at: [" + seen.place + "] to the grant of secret " + name;
  }

  std::optional<SwapRefusal> too_many() const {
    for (const Sighting& seen : seen_) {
      std::size_t times = 0;
      for (const Sighting& other : seen_) times += other.pattern == seen.pattern ? other.times : 0;
      if (times < 2) continue;
      return refuse(
          Reason::placeholder_wrong_place, seen,
          "a request may hold the placeholder of a secret in one place, once; this one holds it " +
              std::to_string(times) + " times");
    }
    return std::nullopt;
  }

  std::optional<SwapRefusal> foreign_placeholder() const {
    const SessionSecrets::Foreign foreign = secrets_.foreign();
    if (!foreign.placeholders) return std::nullopt;
    auto seen = sightings_in(head_, *foreign.placeholders);
    std::erase_if(seen, [&](const Sighting& each) { return foreign.is_own(each.pattern); });
    if (seen.empty()) return std::nullopt;
    return SwapRefusal{Reason::placeholder_foreign, "", seen.front().place,
                       "use the placeholder that this sandbox's own environment holds"};
  }

  // Every field that could authenticate at this host has to hold a placeholder (all of them are
  // legal by now).
  std::optional<SwapRefusal> foreign_credential() const {
    if (grants_.empty()) return std::nullopt;
    std::size_t index = 0;
    for (const HeaderField& field : head_.fields) {
      const std::size_t at = index++;
      if (!may_authenticate(field.name)) continue;
      const auto is_here = [&](const Sighting& seen) { return seen.field == at; };
      if (std::any_of(seen_.begin(), seen_.end(), is_here)) continue;
      return SwapRefusal{Reason::foreign_credential, "", "header:" + lower_case(field.name),
                         "leave the field out or send the placeholder from the environment in it"};
    }
    return std::nullopt;
  }

  // Some servers take '_' for '-' in field names.
  bool may_authenticate(std::string_view field_name) const {
    std::string name = lower_case(field_name);
    std::replace(name.begin(), name.end(), '_', '-');
    if (name == "authorization") return true;
    return std::any_of(grants_.begin(), grants_.end(), [&](const Grant* grant) {
      return std::any_of(grant->at.begin(), grant->at.end(), [&](const Place& place) {
        std::string place_name = place.name;
        std::replace(place_name.begin(), place_name.end(), '_', '-');
        return place.kind == Place::Kind::header && place_name == name;
      });
    });
  }

  std::optional<SwapRefusal> unavailable() const {
    for (const Sighting& seen : seen_) {
      if (credential_of(seen).value) continue;
      return refuse(Reason::secret_unavailable, seen,
                    "see `warder check`: the secret's source gives no value");
    }
    return std::nullopt;
  }

  const RequestHead& head_;
  const Authority& authority_;
  const SessionSecrets& secrets_;
  const std::vector<const Grant*> grants_;
  const std::vector<Sighting> seen_;
};

// What one field may take, by the plan.
struct PlaceUses {
  const SwapPlan& plan;
  const SessionSecrets& secrets;
  std::string_view place;

  const SecretValue* value_for(std::uint32_t pattern) const {
    const Credential& credential = secrets.credentials()[pattern];
    const auto is_it = [&](const SecretUse& use) {
      return use.secret == credential.name && use.place == place;
    };
    const bool planned = std::any_of(plan.uses.begin(), plan.uses.end(), is_it);
    return planned ? credential.value.get() : nullptr;
  }
};

// One pass: what was put in is never looked at again. Empty: the plan has nothing to do here.
WipedBytes swap_text(std::string_view text, const PlaceUses& uses) {
  const Matcher& placeholders = uses.secrets.placeholders();
  WipedBytes out;
  std::size_t copied = 0;
  const auto put = [&](std::string_view bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  for (auto hit = placeholders.find(text); hit.pattern != Matcher::npos;
       hit = placeholders.find(text, hit.end)) {
    const SecretValue* value = uses.value_for(hit.pattern);
    if (value == nullptr) continue;
    put(text.substr(copied, hit.begin - copied));
    value->reveal(put);
    copied = hit.end;
  }
  if (copied != 0) put(text.substr(copied));
  return out;
}

bool plans(const SwapPlan& plan, std::string_view place) {
  return std::any_of(plan.uses.begin(), plan.uses.end(),
                     [&](const SecretUse& use) { return use.place == place; });
}

void swap_basic(HeaderField& field, const SwapPlan& plan, const SessionSecrets& secrets) {
  const auto basic = find_basic(field.value);
  if (!basic) return;
  const auto plain = base64_decode(basic->text);
  if (!plain) return;
  const WipedBytes pair = swap_text(*plain, {plan, secrets, "basic"});
  if (pair.empty()) return;
  std::string token = encode_like(as_view(pair), basic->text);
  std::string value;
  value.reserve(basic->lead.size() + token.size());
  value.append(basic->lead).append(token);
  wipe(token);
  field.value.swap(value);
}

}  // namespace

std::variant<SwapPlan, SwapRefusal> plan_swap(const RequestHead& head, const Authority& authority,
                                              const SessionSecrets& secrets) {
  const Planner planner(head, authority, secrets);
  if (auto refusal = planner.refusal()) return *std::move(refusal);
  return planner.plan();
}

void carry_out_swap(RequestHead& head, const SwapPlan& plan, const SessionSecrets& secrets) {
  if (plan.uses.empty()) return;
  for (HeaderField& field : head.fields) {
    const std::string name = lower_case(field.name);
    const std::string place = "header:" + name;
    const WipedBytes swapped = swap_text(field.value, {plan, secrets, place});
    if (!swapped.empty()) {
      field.value.assign(as_view(swapped));
    } else if (name == "authorization") {
      swap_basic(field, plan, secrets);
    }
  }
}

void wipe_swapped(RequestHead& head, const SwapPlan& plan) {
  for (HeaderField& field : head.fields) {
    const std::string name = lower_case(field.name);
    const bool basic = name == "authorization" && plans(plan, "basic");
    if (basic || plans(plan, "header:" + name)) wipe(field.value);
  }
}

std::variant<SwapPlan, SwapRefusal> check_trailers(const HeaderList& trailers,
                                                   const SessionSecrets& secrets) {
  const std::string suggestion = "send credentials in the request's head";
  if (const auto seen = sightings_in(trailers, secrets.placeholders()); !seen.empty()) {
    return SwapRefusal{Reason::placeholder_wrong_place,
                       secrets.credentials()[seen.front().pattern].name, "trailer", suggestion};
  }
  const auto foreign = secrets.foreign().placeholders;  // none of our own is in them: see above
  if (!foreign) return SwapPlan{};
  if (const auto seen = sightings_in(trailers, *foreign); !seen.empty()) {
    return SwapRefusal{Reason::placeholder_foreign, "", "trailer", suggestion};
  }
  return SwapPlan{};
}

}  // namespace warder
