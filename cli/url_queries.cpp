#include "cli/url_queries.hpp"

#include <algorithm>

namespace warder {
namespace {

constexpr std::string_view kAfterUrl = " \t\r\n\"'`<>|\\";

}  // namespace

std::string without_queries(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t url = text.find("://");
    if (url == std::string_view::npos) return out.append(text);
    const std::size_t end = std::min(text.find_first_of(kAfterUrl, url), text.size());
    const std::size_t query = std::min(text.find_first_of("?#", url), end);
    out.append(text.substr(0, query));
    if (query < end) out.append(1, text[query]).append("[query]");
    text.remove_prefix(end);
  }
}

}  // namespace warder
