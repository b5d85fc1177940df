#include "secrets/swap.hpp"

#include <algorithm>
#include <utility>

#include "base/encoding.hpp"
#include "policy/quote.hpp"
#include "secrets/basic.hpp"
#include "secrets/escapes.hpp"
#include "secrets/foreign_credential.hpp"
#include "secrets/sighting.hpp"
#include "secrets/target_places.hpp"

namespace warder {
namespace {

using Spot = Sighting::Spot;

bool names_place(const Grant& grant, const Place& place) {
  return std::find(grant.at.begin(), grant.at.end(), place) != grant.at.end();
}

bool is_legal(const Sighting& seen, const std::string& secret,
              const std::vector<const Grant*>& grants) {
  if (seen.spot == Spot::elsewhere) return false;
  const auto granted = [&](const Place& place) {
    return std::any_of(grants.begin(), grants.end(), [&](const Grant* grant) {
      return grant->secret == secret && names_place(*grant, place);
    });
  };
  if (seen.spot == Spot::query) return granted({Place::Kind::query, seen.key});
  if (seen.spot == Spot::path) return granted({Place::Kind::path, ""});
  const bool basic = seen.spot == Spot::basic;
  const std::string name = basic ? "authorization" : seen.place.substr(seen.place.find(':') + 1);
  if (is_reflection_prone(name)) return false;
  return granted({Place::Kind::header, name}) || (basic && granted({Place::Kind::basic, ""}));
}

// A signature covers what it was made with: putting the value in afterwards cannot mend it.
bool is_signature(std::string_view authorization) {
  return same_name(authorization.substr(0, 5), "AWS4-") ||
         same_name(authorization.substr(0, 4), "AWS ");
}

WipedBytes swapped_target(std::string_view target, const SwapPlan& plan,
                          const SessionSecrets& secrets);

// The plan in the making: one request, one destination.
class Planner {
 public:
  Planner(const RequestHead& head, const Authority& authority, const SessionSecrets& secrets)
      : head_(head),
        authority_(authority),
        secrets_(secrets),
        grants_(secrets.grants_for(authority.host)),
        usable_(usable(grants_, authority.scheme)),
        seen_(sightings_in(head, secrets.placeholders())) {}

  std::optional<SwapRefusal> refusal() const {
    if (auto refused = revoked()) return refused;
    if (auto refused = wrong_host()) return refused;
    if (auto refused = wrong_request()) return refused;
    if (auto refused = wrong_place()) return refused;
    if (auto refused = signs()) return refused;
    if (auto refused = too_many()) return refused;
    if (auto refused = foreign_placeholder()) return refused;
    std::vector<ForeignCredential> let_be;
    if (auto refused = foreign(let_be)) return refused;
    if (auto refused = unavailable()) return refused;
    return odd_path();
  }

  SwapPlan plan() const {
    SwapPlan plan;
    for (const Sighting& seen : seen_) {
      const Credential& credential = credential_of(seen);
      // What is shown of a key may be less than the grant names.
      const bool query = seen.spot == Spot::query;
      std::string place = query ? Place{Place::Kind::query, seen.key}.str() : seen.place;
      plan.uses.push_back({credential.name, credential.version, std::move(place),
                           static_cast<unsigned>(seen.times)});
    }
    (void)foreign(plan.foreign);
    return plan;
  }

 private:
  static std::vector<const Grant*> usable(std::vector<const Grant*> grants, Scheme scheme) {
    std::erase_if(grants, [&](const Grant* grant) { return !grant->serves(scheme); });
    return grants;
  }

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
    for (const Sighting& seen : seen_) {
      const std::string& name = credential_of(seen).name;
      const auto serves = [&](const Grant* grant) { return grant->secret == name; };
      if (std::any_of(usable_.begin(), usable_.end(), serves)) continue;
      return refuse(Reason::placeholder_wrong_place, seen,
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
      if (is_legal(seen, name, usable_)) continue;
      return refuse(Reason::placeholder_wrong_place, seen, suggestion_for(seen, name));
    }
    return std::nullopt;
  }

  static std::string suggestion_for(const Sighting& seen, const std::string& name) {
    if (seen.spot == Spot::elsewhere) return "send it in a header field that its grant names";
    if (seen.spot == Spot::query || seen.spot == Spot::path)
      return "if it belongs there: add at: [" + in_quotes(seen.place) +
             "] to the grant of secret " + name + "; a header field is safer";
    const std::string field = seen.place.substr(seen.place.find(':') + 1);
    if (is_reflection_prone(field)) {
      return "servers reflect the field " + field + ": send it in a field such as authorization";
    }
    return "if it belongs there: add at: [" + seen.place + "] to the grant of secret " + name;
  }

  std::optional<SwapRefusal> signs() const {
    for (const Sighting& seen : seen_) {
      const bool in_field =
          seen.field != Sighting::kNoField && seen.place == "header:authorization" &&
          is_signature(head_.fields.begin()[static_cast<std::ptrdiff_t>(seen.field)].value);
      const bool in_query = seen.spot == Spot::query && same_name(seen.key, "x-amz-credential");
      if (!in_field && !in_query) continue;
      return refuse(Reason::placeholder_wrong_place, seen,
                    "there is no way yet: the request is signed with the placeholder, and a swap "
                    "would break that");
    }
    return std::nullopt;
  }

  unsigned most_of(const std::string& secret) const {
    unsigned most = 1;
    for (const Grant* grant : usable_)
      if (grant->secret == secret) most = std::max(most, grant->max);
    return most;
  }

  std::optional<SwapRefusal> too_many() const {
    for (const Sighting& seen : seen_) {
      std::size_t times = 0;
      for (const Sighting& other : seen_) times += other.pattern == seen.pattern ? other.times : 0;
      const unsigned most = most_of(credential_of(seen).name);
      if (times <= most) continue;
      const std::string where =
          most == 1 ? "in one place, once" : std::to_string(most) + " times (its grant's max)";
      return refuse(Reason::placeholder_wrong_place, seen,
                    "a request may hold the placeholder of a secret " + where +
                        "; this one holds it " + std::to_string(times) + " times");
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

  std::optional<SwapRefusal> foreign(std::vector<ForeignCredential>& let_be) const {
    return find_foreign(head_, grants_, seen_, secrets_.placeholders(), let_be);
  }

  std::optional<SwapRefusal> unavailable() const {
    for (const Sighting& seen : seen_) {
      if (credential_of(seen).value) continue;
      return refuse(Reason::secret_unavailable, seen,
                    "see `warder check`: the secret's source gives no value");
    }
    return std::nullopt;
  }

  // The path was judged with the placeholder in it; the value must not lead it elsewhere.
  std::optional<SwapRefusal> odd_path() const {
    for (const Sighting& seen : seen_) {
      if (seen.spot != Spot::path) continue;
      const WipedBytes target = swapped_target(head_.target, plan(), secrets_);
      const std::string_view path = as_view(target);
      if (!leads_elsewhere(path.substr(0, path.find('?')))) return std::nullopt;
      return refuse(Reason::placeholder_wrong_place, seen,
                    "its value would make a dot segment of the path: send it in a header field");
    }
    return std::nullopt;
  }

  const RequestHead& head_;
  const Authority& authority_;
  const SessionSecrets& secrets_;
  const std::vector<const Grant*> grants_;
  const std::vector<const Grant*> usable_;  // of them, in this scheme
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

WipedBytes swapped_target(std::string_view target, const SwapPlan& plan,
                          const SessionSecrets& secrets) {
  WipedBytes out;
  std::size_t copied = 0;
  for (const TargetHit& hit : target_hits(target, secrets.placeholders())) {
    const std::string place = hit.place.str();
    const SecretValue* value = PlaceUses{plan, secrets, place}.value_for(hit.pattern);
    if (value == nullptr) continue;
    const std::string_view before = target.substr(copied, hit.begin - copied);
    out.insert(out.end(), before.begin(), before.end());
    value->reveal([&](std::string_view plain) { append_escaped(out, plain, Escapes::percent); });
    copied = hit.end;
  }
  const std::string_view rest = target.substr(copied);
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

bool is_in_target(const SecretUse& use) {
  return use.place == "path" || use.place.starts_with("query:");
}

void swap_target(std::string& target, const SwapPlan& plan, const SessionSecrets& secrets) {
  if (std::none_of(plan.uses.begin(), plan.uses.end(), is_in_target)) return;
  const WipedBytes swapped = swapped_target(target, plan, secrets);
  constexpr std::size_t kBeyondItself =
      64;  // a short string would leave copies where it moves from
  std::string made;
  made.reserve(std::max(swapped.size(), kBeyondItself));
  made.assign(as_view(swapped));
  target.swap(made);
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
  swap_target(head.target, plan, secrets);
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
  if (std::any_of(plan.uses.begin(), plan.uses.end(), is_in_target)) wipe(head.target);
  for (HeaderField& field : head.fields) {
    const std::string name = lower_case(field.name);
    const bool basic = name == "authorization" && plans(plan, "basic");
    if (basic || plans(plan, "header:" + name)) wipe(field.value);
  }
}

std::vector<std::string> secret_fields(const SwapPlan& plan) {
  std::vector<std::string> fields;
  for (const SecretUse& use : plan.uses) {
    if (is_in_target(use))
      fields.emplace_back(":path");
    else
      fields.push_back(use.place == "basic" ? "authorization" : use.place.substr(7));
  }
  return fields;
}

}  // namespace warder
