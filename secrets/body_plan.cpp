#include "secrets/body_plan.hpp"

#include <algorithm>

#include "http/chars.hpp"
#include "secrets/sighting.hpp"

namespace warder {
namespace {

using Format = BodyPlan::Format;
using Kind = Place::Kind;

Format format_of(const HeaderList& fields) {
  // Two of them are read in two ways: only what does not depend on it is swapped.
  if (fields.count("content-type") != 1) return Format::other;
  const std::string value = lower_case(fields.find("content-type")->value);
  const std::string_view type = trim(std::string_view(value).substr(0, value.find(';')));
  const bool is_grpc = type == "application/grpc" || type.starts_with("application/grpc+") ||
                       type == "application/grpc-web" || type.starts_with("application/grpc-web+");
  if (is_grpc) return Format::grpc;  // also with "+json": that says what the messages are
  if (type == "application/json" || type.ends_with("+json")) return Format::json;
  if (type == "application/x-www-form-urlencoded") return Format::form;
  return Format::other;
}

bool is_there(const Place& place, Format format) {
  switch (place.kind) {
    case Kind::body: return true;
    case Kind::body_json: return format == Format::json;
    case Kind::body_form: return format == Format::form;
    default: return false;
  }
}

bool names_body(const Grant* grant) {
  return std::any_of(grant->at.begin(), grant->at.end(), [](const Place& place) {
    return place.kind == Kind::body || place.kind == Kind::body_json ||
           place.kind == Kind::body_form;
  });
}

bool is_coded(const HeaderList& fields) {
  return std::any_of(fields.begin(), fields.end(), [](const HeaderField& field) {
    return same_name(field.name, "content-encoding") && !field.value.empty() &&
           !same_name(field.value, "identity");
  });
}

Escapes escapes_of(Format format) {
  if (format == Format::json) return Escapes::json;
  return format == Format::form ? Escapes::percent : Escapes::none;
}

BodyPlace& entry_for(BodyPlan& plan, const Place& place, Grant::Foreign foreign) {
  const auto found = std::find_if(plan.places.begin(), plan.places.end(),
                                  [&](const BodyPlace& entry) { return entry.place == place; });
  if (found == plan.places.end()) {
    plan.places.push_back({place, {}, foreign});
    return plan.places.back();
  }
  found->foreign = std::min(found->foreign, foreign);  // the strictest
  return *found;
}

// `wanted`: is a place one of the thing that is planned for?
template <class Wanted>
BodyPlan plan_for(const Authority& authority, const SessionSecrets& secrets, Format format,
                  Wanted wanted) {
  BodyPlan plan;
  plan.format = format;
  for (const Grant* grant : secrets.grants_for(authority.host)) {
    if (!grant->serves(authority.scheme)) continue;
    if (std::none_of(grant->at.begin(), grant->at.end(), wanted)) continue;
    plan.left.resize(secrets.credentials().size(), 0);
    for (const Place& place : grant->at) {
      if (!wanted(place)) continue;
      BodyPlace& entry = entry_for(plan, place, grant->foreign);
      for (std::uint32_t i = 0; i < secrets.credentials().size(); ++i) {
        if (secrets.credentials()[i].name != grant->secret) continue;
        entry.credentials.push_back(i);
        plan.left[i] = std::max(plan.left[i], grant->max);
      }
    }
  }
  return plan;
}

void note_uses(BodyPlan& plan, const SessionSecrets& secrets) {
  for (const BodyPlace& entry : plan.places) {
    const bool one_value =
        entry.place.kind == Kind::body_json || entry.place.kind == Kind::body_form;
    if (one_value && entry.foreign == Grant::Foreign::strip) plan.keeps_length = false;
    for (const std::uint32_t i : entry.credentials) {
      const Credential& credential = secrets.credentials()[i];
      if (!credential.value || credential.is_revoked || plan.left[i] == 0) continue;
      plan.uses.push_back({credential.name, credential.version, entry.place.str()});
      const std::size_t size = credential.value->reveal(
          [&](std::string_view value) { return escaped_size(value, escapes_of(plan.format)); });
      if (size != credential.placeholder.size()) plan.keeps_length = false;
    }
  }
  // What cannot be put in there keeps its length: it is refused.
  if (plan.format == Format::grpc) plan.keeps_length = true;
}

}  // namespace

std::variant<BodyPlan, SwapRefusal> plan_body(const RequestHead& head, const Authority& authority,
                                              const SessionSecrets& secrets, const SwapPlan& swap) {
  if (head.method == "TRACE" || head.method == "OPTIONS") return BodyPlan{};
  const auto grants = secrets.grants_for(authority.host);
  if (std::none_of(grants.begin(), grants.end(), names_body)) return BodyPlan{};
  const Format format = format_of(head.fields);
  BodyPlan plan = plan_for(authority, secrets, format,
                           [&](const Place& place) { return is_there(place, format); });
  if (plan.empty()) return plan;
  if (is_coded(head.fields)) {
    return SwapRefusal{Reason::body_unswappable, "", plan.places.front().place.str(),
                       "send the body without Content-Encoding: a grant of this host names a place "
                       "in it"};
  }
  for (std::uint32_t i = 0; i < plan.left.size(); ++i) {
    for (const SecretUse& use : swap.uses) {
      const unsigned times = use.secret == secrets.credentials()[i].name ? use.times : 0;
      plan.left[i] -= std::min(plan.left[i], times);
    }
  }
  note_uses(plan, secrets);
  return plan;
}

BodyPlan plan_messages(const Authority& authority, const SessionSecrets& secrets) {
  BodyPlan plan = plan_for(authority, secrets, Format::ws_binary,
                           [](const Place& place) { return place.kind == Kind::ws; });
  note_uses(plan, secrets);
  return plan;
}

void drop_digests(HeaderList& fields) {
  for (const char* name : {"content-md5", "digest", "content-digest", "repr-digest"})
    fields.remove(name);
}

}  // namespace warder
