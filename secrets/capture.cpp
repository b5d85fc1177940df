#include "secrets/capture.hpp"

#include <algorithm>

#include "http/chars.hpp"
#include "policy/path_forms.hpp"

namespace warder {
namespace {

// Where a token goes back to its endpoint: to be refreshed (RFC 6749 section 6), revoked (RFC 7009) or looked at
// (RFC 7662).
std::vector<Place> places_at_endpoint(std::string_view field) {
  std::vector<Place> places;
  const auto add = [&](const std::string& key) {
    places.push_back({Place::Kind::body_form, key});
    places.push_back({Place::Kind::body_json, '/' + key});
  };
  add(std::string(field));
  if (field != "token") add("token");
  return places;
}

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), to_lower);
  return text;
}

// As a deny rule does, and without regard to case: what the endpoint may take for its path must not pass uncaptured.
bool may_be(const PathPattern& pattern, std::string_view path) {
  if (pattern.matches_any_form(path)) return true;
  const auto folded = PathPattern::parse(in_lower_case(pattern.str()));
  const auto* plain = std::get_if<PathPattern>(&folded);
  if (plain == nullptr) return false;
  constexpr int kMostDecodings = 3;
  std::string form(path);
  for (int times = 0; times <= kMostDecodings; ++times) {
    if (plain->matches_any_form(in_lower_case(form))) return true;
    std::string next = decode_escapes(form, EscapedSlash::slash);
    if (next == form) return false;
    form = std::move(next);
  }
  return false;
}

}  // namespace

bool Capture::covers(const HostName& host, std::string_view path) const {
  return std::any_of(from.begin(), from.end(),
                     [&](const HostPattern& pattern) { return pattern.matches(host); }) &&
         std::any_of(paths.begin(), paths.end(),
                     [&](const PathPattern& pattern) { return may_be(pattern, path); });
}

std::vector<Grant> Capture::grants_of(std::string_view field) const {
  std::vector<Grant> grants;
  if (field != "refresh_token") grants.push_back(standing_grant());
  Grant& at_endpoint = grants.emplace_back();
  at_endpoint.hosts = from;
  at_endpoint.at = places_at_endpoint(field);
  at_endpoint.where = where;
  return grants;
}

Grant Capture::standing_grant() const {
  Grant grant;
  grant.hosts = hosts;
  grant.at = at;
  grant.where = where;
  return grant;
}

const Capture* find_capture(const std::vector<Capture>& captures, const HostName& host,
                            std::string_view path) {
  const auto found = std::find_if(captures.begin(), captures.end(), [&](const Capture& capture) {
    return capture.covers(host, path);
  });
  return found == captures.end() ? nullptr : &*found;
}

}  // namespace warder
