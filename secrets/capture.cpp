#include "secrets/capture.hpp"

#include <algorithm>

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

}  // namespace

bool Capture::covers(const HostName& host, std::string_view path) const {
  return std::any_of(from.begin(), from.end(),
                     [&](const HostPattern& pattern) { return pattern.matches(host); }) &&
         std::any_of(paths.begin(), paths.end(),
                     [&](const PathPattern& pattern) { return pattern.matches(path); });
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
