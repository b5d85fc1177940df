#include "http/hop_by_hop.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "http/chars.hpp"

namespace warder {
namespace {

constexpr std::array kHopByHop = std::to_array<std::string_view>(
    {"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Proxy-Authenticate",
     "Proxy-Authentication-Info", "Transfer-Encoding", "Upgrade"});

// Taking one of these off would change what the message means to the far end, so a Connection that
// names one is an attack or a fault (RFC 9110 section 7.6.1: such a name is never appropriate).
constexpr std::array kEndToEnd = std::to_array<std::string_view>({"Accept",
                                                                  "Accept-Encoding",
                                                                  "Accept-Language",
                                                                  "Accept-Ranges",
                                                                  "Age",
                                                                  "Allow",
                                                                  "Api-Key",
                                                                  "Authorization",
                                                                  "Cache-Control",
                                                                  "Content-Disposition",
                                                                  "Content-Encoding",
                                                                  "Content-Language",
                                                                  "Content-Length",
                                                                  "Content-Location",
                                                                  "Content-Range",
                                                                  "Content-Security-Policy",
                                                                  "Content-Type",
                                                                  "Cookie",
                                                                  "Date",
                                                                  "Digest",
                                                                  "ETag",
                                                                  "Expect",
                                                                  "Expires",
                                                                  "Forwarded",
                                                                  "From",
                                                                  "Host",
                                                                  "If-Match",
                                                                  "If-Modified-Since",
                                                                  "If-None-Match",
                                                                  "If-Range",
                                                                  "If-Unmodified-Since",
                                                                  "Last-Modified",
                                                                  "Link",
                                                                  "Location",
                                                                  "Max-Forwards",
                                                                  "Origin",
                                                                  "Pragma",
                                                                  "Private-Token",
                                                                  "Range",
                                                                  "Referer",
                                                                  "Retry-After",
                                                                  "Server",
                                                                  "Set-Cookie",
                                                                  "Strict-Transport-Security",
                                                                  "Trailer",
                                                                  "User-Agent",
                                                                  "Vary",
                                                                  "Via",
                                                                  "WWW-Authenticate",
                                                                  "X-Api-Key",
                                                                  "X-Goog-Api-Key",
                                                                  "X-Real-IP"});
constexpr std::array kEndToEndPrefix =
    std::to_array<std::string_view>({"Access-Control-", "Sec-", "X-Amz-", "X-Forwarded-"});

bool is_end_to_end(std::string_view name) {
  const auto same = [&](std::string_view other) { return same_name(name, other); };
  const auto starts = [&](std::string_view prefix) {
    return same_name(name.substr(0, prefix.size()), prefix);
  };
  return std::any_of(kEndToEnd.begin(), kEndToEnd.end(), same) ||
         std::any_of(kEndToEndPrefix.begin(), kEndToEndPrefix.end(), starts);
}

// What Connection names, or nullopt when it may not.
std::optional<std::vector<std::string>> connection_options(const HeaderList& fields) {
  std::vector<std::string> options;
  for (const HeaderField& field : fields) {
    if (!same_name(field.name, "Connection")) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      const std::string_view option = trim(rest.substr(0, comma));
      if (!all_in(kTokenChar, option) || is_end_to_end(option)) return std::nullopt;
      if (!option.empty()) options.emplace_back(option);
      rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
  }
  return options;
}

}  // namespace

bool strip_hop_by_hop(HeaderList& fields) {
  const auto options = connection_options(fields);
  if (!options) return false;
  const bool takes_trailers = fields.has_token("TE", "trailers");
  if (takes_trailers) fields.set("TE", "trailers");

  std::erase_if(fields.fields(), [&](const HeaderField& field) {
    const auto same = [&](std::string_view name) { return same_name(field.name, name); };
    if (same("TE")) return !takes_trailers;
    return std::any_of(kHopByHop.begin(), kHopByHop.end(), same) ||
           std::any_of(options->begin(), options->end(), same);
  });
  return true;
}

}  // namespace warder
