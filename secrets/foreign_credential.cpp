#include "secrets/foreign_credential.hpp"

#include <algorithm>

#include "base/encoding.hpp"
#include "secrets/basic.hpp"
#include "secrets/beside_placeholder.hpp"
#include "secrets/target_places.hpp"

namespace warder {
namespace {

using Grants = std::vector<const Grant*>;

std::string with_dashes(std::string_view name) {
  std::string dashed = lower_case(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  return dashed;
}

// What the grants say of a credential of the sandbox's own in `place`: the strictest of those that
// name it, else of `otherwise`; nullopt: nothing.
std::optional<Grant::Foreign> rule_for(const Grants& grants, Place place, const Grants& otherwise) {
  std::optional<Grant::Foreign> strictest;
  const auto take = [&](const Grant* grant) {
    strictest = std::min(strictest.value_or(grant->foreign), grant->foreign);
  };
  // Some servers take '_' for '-' in field names.
  const bool is_field = place.kind == Place::Kind::header;
  if (is_field) place.name = with_dashes(place.name);
  for (const Grant* grant : grants) {
    for (Place own : grant->at) {
      if (is_field) own.name = with_dashes(own.name);
      if (own == place) take(grant);
    }
  }
  if (!strictest) std::for_each(otherwise.begin(), otherwise.end(), take);
  return strictest;
}

// Authorization authenticates wherever a grant says that a host knows credentials.
std::optional<Grant::Foreign> rule_for_field(const Grants& grants, const std::string& name) {
  const bool always = with_dashes(name) == "authorization";
  return rule_for(grants, {Place::Kind::header, name}, always ? grants : Grants{});
}

// Only Authorization has a form that is known: other fields hold what their API wants.
bool has_other_credential(const HeaderField& field, const Sighting& seen,
                          const Matcher& placeholders) {
  if (with_dashes(field.name) != "authorization") return false;
  if (seen.spot != Sighting::Spot::basic)
    return !stands_alone_in_authorization(field.value, placeholders);
  const auto basic = find_basic(field.value);
  const auto pair = basic ? base64_decode(basic->text) : std::nullopt;
  return !pair || !stands_alone_in_basic(*pair, placeholders);
}

bool names_a_key(const Grant* grant) {
  return std::any_of(grant->at.begin(), grant->at.end(),
                     [](const Place& place) { return place.kind == Place::Kind::query; });
}

std::optional<SwapRefusal> foreign_pair(std::string_view target, const Grants& grants,
                                        const Matcher& placeholders,
                                        std::vector<ForeignCredential>& let_be) {
  if (std::none_of(grants.begin(), grants.end(), names_a_key)) return std::nullopt;
  const auto hits = target_hits(target, placeholders);
  // Some servers take ';' for '&'. What only they read as a pair cannot be taken off.
  for (const auto by : {Separators::ampersand, Separators::also_semicolon}) {
    std::size_t index = 0;
    for (const QueryPair& pair : query_pairs(target, by)) {
      const std::size_t at = index++;
      const Place place{Place::Kind::query, pair.key};
      const auto rule = rule_for(grants, place, {});
      if (!rule || pair.value == pair.end) continue;
      const auto is_here = [&](const TargetHit& hit) {
        return hit.begin >= pair.value && hit.end <= pair.end;
      };
      if (std::any_of(hits.begin(), hits.end(), is_here)) continue;
      const bool only_some = by == Separators::also_semicolon;
      const auto is_known = [&](const ForeignCredential& known) {
        return known.begin == pair.begin;
      };
      if (only_some && std::any_of(let_be.begin(), let_be.end(), is_known)) continue;
      if (*rule == Grant::Foreign::refuse || (only_some && *rule == Grant::Foreign::strip)) {
        return SwapRefusal{
            Reason::foreign_credential, "", place.str(),
            "leave it out or send the placeholder from the environment as its value"};
      }
      let_be.push_back({place.str(), *rule, at, pair.begin});
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<SwapRefusal> find_foreign(const RequestHead& head, const Grants& grants,
                                        const std::vector<Sighting>& seen,
                                        const Matcher& placeholders,
                                        std::vector<ForeignCredential>& let_be) {
  if (grants.empty()) return std::nullopt;
  std::size_t index = 0;
  for (const HeaderField& field : head.fields) {
    const std::size_t at = index++;
    const auto rule = rule_for_field(grants, field.name);
    if (!rule) continue;
    const auto is_here = [&](const Sighting& each) { return each.field == at; };
    const auto here = std::find_if(seen.begin(), seen.end(), is_here);
    if (here != seen.end() && !has_other_credential(field, *here, placeholders)) continue;
    const std::string place = "header:" + lower_case(field.name);
    // What is stripped must not be what the swap is planned for.
    const bool beside = here != seen.end();
    if (beside && *rule == Grant::Foreign::pass) continue;
    if (beside || *rule == Grant::Foreign::refuse) {
      return SwapRefusal{Reason::foreign_credential, "", place,
                         "leave the field out or send the placeholder from the environment in it"};
    }
    let_be.push_back({place, *rule, at});
  }
  return foreign_pair(head.target, grants, placeholders, let_be);
}

void strip_foreign(HeaderList& fields, const SwapPlan& plan) {
  std::size_t index = 0;
  std::erase_if(fields.fields(), [&](const HeaderField&) {
    const std::size_t at = index++;
    return std::any_of(plan.foreign.begin(), plan.foreign.end(), [&](const auto& each) {
      return !each.is_in_query() && each.index == at && each.what == Grant::Foreign::strip;
    });
  });
}

std::string strip_foreign(std::string target, const SwapPlan& plan) {
  std::vector<std::size_t> pairs;
  for (const ForeignCredential& each : plan.foreign) {
    if (each.is_in_query() && each.what == Grant::Foreign::strip) pairs.push_back(each.index);
  }
  return pairs.empty() ? target : without_pairs(target, pairs);
}

std::variant<SwapPlan, SwapRefusal> check_trailers(const HeaderList& trailers,
                                                   const Authority& authority,
                                                   const SessionSecrets& secrets) {
  constexpr const char* kSuggestion = "send credentials in the request's head";
  if (const auto seen = sightings_in(trailers, secrets.placeholders()); !seen.empty()) {
    return SwapRefusal{Reason::placeholder_wrong_place,
                       secrets.credentials()[seen.front().pattern].name, "trailer", kSuggestion};
  }
  const auto foreign = secrets.foreign().placeholders;  // none of our own is in them: see above
  if (foreign && !sightings_in(trailers, *foreign).empty()) {
    return SwapRefusal{Reason::placeholder_foreign, "", "trailer", kSuggestion};
  }
  SwapPlan plan;
  if (trailers.empty()) return plan;
  const Grants grants = secrets.grants_for(authority.host);
  std::size_t index = 0;
  for (const HeaderField& field : trailers) {
    const std::size_t at = index++;
    const auto rule = rule_for_field(grants, field.name);
    if (!rule) continue;
    const std::string place = "trailer:" + lower_case(field.name);
    if (*rule == Grant::Foreign::refuse) {
      return SwapRefusal{Reason::foreign_credential, "", place, "leave the field out"};
    }
    plan.foreign.push_back({place, *rule, at});
  }
  return plan;
}

}  // namespace warder
