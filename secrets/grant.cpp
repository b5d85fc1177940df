#include "secrets/grant.hpp"

#include <algorithm>
#include <array>

#include "http/chars.hpp"

namespace warder {
namespace {

constexpr std::array<std::string_view, 32> kReflected{"accept",
                                                      "accept-charset",
                                                      "accept-encoding",
                                                      "accept-language",
                                                      "baggage",
                                                      "connection",
                                                      "content-type",
                                                      "cookie",
                                                      "correlation-id",
                                                      "expect",
                                                      "forwarded",
                                                      "from",
                                                      "host",
                                                      "if-none-match",
                                                      "location",
                                                      "origin",
                                                      "range",
                                                      "referer",
                                                      "request-id",
                                                      "sec-websocket-key",
                                                      "traceparent",
                                                      "tracestate",
                                                      "upgrade",
                                                      "user-agent",
                                                      "via",
                                                      "x-amzn-trace-id",
                                                      "x-correlation-id",
                                                      "x-real-ip",
                                                      "x-request-id",
                                                      "x-trace-id",
                                                      "sec-websocket-protocol",
                                                      "te"};

constexpr std::array<std::string_view, 5> kReflectedFamilies{
    "access-control-", "x-b3-", "x-forwarded-", "x-original-", "x-rewrite-"};

}  // namespace

std::string Place::str() const {
  switch (kind) {
    case Kind::header: return "header:" + name;
    case Kind::basic: return "basic";
    case Kind::query: return "query:" + name;
    case Kind::path: return "path";
    case Kind::body_json: return "body:json:" + name;
    case Kind::body_form: return "body:form:" + name;
    case Kind::body: return "body";
    case Kind::ws: return "ws";
  }
  return "";
}

std::string_view to_string(Grant::Foreign foreign) {
  switch (foreign) {
    case Grant::Foreign::refuse: return "refuse";
    case Grant::Foreign::strip: return "strip";
    case Grant::Foreign::pass: return "pass";
  }
  return "";
}

std::vector<Place> default_places() {
  std::vector<Place> places;
  for (const char* name :
       {"authorization", "x-api-key", "api-key", "x-goog-api-key", "private-token"}) {
    places.push_back({Place::Kind::header, name});
  }
  return places;
}

bool is_reflection_prone(std::string_view field_name) {
  std::string name(field_name);
  for (char& c : name) {
    c = c == '_' ? '-' : to_lower(c);
  }
  const auto begins_name = [&](std::string_view family) { return name.starts_with(family); };
  return std::find(kReflected.begin(), kReflected.end(), name) != kReflected.end() ||
         std::any_of(kReflectedFamilies.begin(), kReflectedFamilies.end(), begins_name);
}

}  // namespace warder
