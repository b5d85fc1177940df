#include "policy/shared_hosts.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace warder {
namespace {

constexpr auto kShared = std::to_array<std::string_view>({
    "*.cloudfront.net",
    "*.fastly.net",
    "*.global.fastly.net",
    "*.edgekey.net",
    "*.akamaized.net",
    "*.azureedge.net",
    "*.azurefd.net",
    "*.b-cdn.net",
    "cdn.jsdelivr.net",
    "unpkg.com",
    "cdnjs.cloudflare.com",
    // object stores
    "storage.googleapis.com",
    "*.storage.googleapis.com",
    "*.blob.core.windows.net",
    "*.web.core.windows.net",
    "**.digitaloceanspaces.com",
    "*.r2.dev",
    "*.r2.cloudflarestorage.com",
    "*.backblazeb2.com",
    // hosting
    "*.herokuapp.com",
    "*.vercel.app",
    "*.now.sh",
    "*.workers.dev",
    "*.pages.dev",
    "*.netlify.app",
    "*.github.io",
    "*.gitlab.io",
    "*.web.app",
    "*.firebaseapp.com",
    "*.appspot.com",
    "*.run.app",
    "*.cloudfunctions.net",
    "*.azurewebsites.net",
    "*.fly.dev",
    "*.onrender.com",
    "*.up.railway.app",
    "*.deno.dev",
    "*.glitch.me",
    "*.repl.co",
    "*.replit.app",
    "*.surge.sh",
    // other people's files, and tunnels to other people's machines
    "raw.githubusercontent.com",
    "gist.githubusercontent.com",
    "*.ngrok.io",
    "*.ngrok-free.app",
    "*.ngrok.app",
    "*.trycloudflare.com",
    "*.loca.lt",
});

// S3 has its buckets among the other services of a region: "b.s3.eu-west-1.amazonaws.com",
// "s3-us-west-2.amazonaws.com".
bool has_buckets(const HostPattern& pattern) {
  if (pattern.is_range()) return false;
  constexpr std::string_view kTop = "amazonaws.com";
  const std::string text = pattern.str();
  const std::string_view name = std::string_view(text).substr(text.find_first_not_of("*."));
  if (!name.ends_with(kTop)) return false;
  std::string_view rest = name.substr(0, name.size() - kTop.size());
  if (!rest.empty() && rest.back() != '.') return false;
  // "*.amazonaws.com", "**.eu-west-1.amazonaws.com"
  if (pattern.kind() != HostPattern::Kind::exact && std::count(rest.begin(), rest.end(), '.') <= 1)
    return true;
  while (!rest.empty()) {
    const std::string_view label = rest.substr(0, rest.find('.'));
    if (label == "s3" || label.starts_with("s3-")) return true;
    rest.remove_prefix(label.size() + 1);
  }
  return false;
}

const std::vector<HostPattern>& shared_patterns() {
  static const std::vector<HostPattern> kPatterns = [] {
    std::vector<HostPattern> out;
    for (const std::string_view text : kShared)
      out.push_back(std::get<HostPattern>(HostPattern::parse(text)));
    return out;
  }();
  return kPatterns;
}

}  // namespace

std::string shared_hosting(const HostPattern& pattern) {
  const auto& all = shared_patterns();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const HostPattern& shared) { return shared.overlaps(pattern); });
  if (found != all.end()) return found->str();
  return has_buckets(pattern) ? "S3 (*.s3.amazonaws.com)" : "";
}

}  // namespace warder
