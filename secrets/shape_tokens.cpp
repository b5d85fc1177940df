#include "secrets/shape_tokens.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>

#include "base/encoding.hpp"
#include "http/chars.hpp"
#include "secrets/secret_value.hpp"
#include "secrets/shape.hpp"
#include "secrets/wiped.hpp"

namespace warder {
namespace {

namespace json = boost::json;

constexpr std::string_view kBase62 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

constexpr std::size_t kSignatureChars = 22;  // of 6 bits: 128 and more

// What clients read, and nobody can use without the signature. Names, mail addresses and identifiers of a single token
// (jti, nonce, sid) are not among them.
constexpr auto kHeaderFields = std::to_array<std::string_view>({"alg", "typ", "kid", "cty"});
constexpr auto kClaims = std::to_array<std::string_view>(
    {"iss",        "sub",    "aud",        "exp",
     "nbf",        "iat",    "auth_time",  "scope",
     "scp",        "azp",    "appid",      "client_id",
     "tid",        "oid",    "ver",        "role",
     "roles",      "ref",    "typ",        "token_type",
     "account_id", "org_id", "project_id", "https://api.openai.com/auth"});

// Decodes without a copy that stays behind.
std::optional<WipedBytes> decode(std::string_view part) {
  if (part.empty() || part.find_first_of("=+/") != std::string_view::npos) return std::nullopt;
  auto plain = base64_decode(part);
  if (!plain) return std::nullopt;
  WipedBytes bytes(plain->begin(), plain->end());
  wipe(*plain);
  return bytes;
}

std::size_t encoded_size(std::size_t bytes) { return (4 * bytes + 2) / 3; }

// The fields of the object in `part` that are `known`, encoded to the same length: spaces stand for what is left out. A
// number that is written longer than it came makes it longer, by a multiple of 3.
template <std::size_t N>
std::optional<std::string> public_part(std::string_view part,
                                       const std::array<std::string_view, N>& known) {
  const auto bytes = decode(part);
  if (!bytes) return std::nullopt;
  // Both hold what the parser makes of the claims, so that all of it is wiped.
  WipedVector<unsigned char> tree(32 * bytes->size() + 4096);
  WipedVector<unsigned char> stack(8 * bytes->size() + 4096);
  json::static_resource storage(tree.data(), tree.size());
  json::parse_options options;
  options.max_depth = 8;
  std::string kept = "{";
  try {
    json::parser parser(&storage, options, stack.data(), stack.size());
    boost::system::error_code error;
    parser.write(as_view(*bytes), error);
    if (error) return std::nullopt;
    const json::value read = parser.release();
    const json::object* object = read.if_object();
    if (object == nullptr) return std::nullopt;
    for (const auto& [name, claim] : *object) {
      const std::string_view key(name.data(), name.size());
      if (std::find(known.begin(), known.end(), key) == known.end()) continue;
      kept += (kept.size() > 1 ? "," : "") + json::serialize(json::string_view(key)) + ':' +
              json::serialize(claim);
    }
  } catch (const std::exception&) {  // more than the storage holds, or cut off
    return std::nullopt;
  }
  const auto is_in_phase = [&] {
    const std::size_t size = encoded_size(kept.size() + 1);
    return size >= part.size() && (size - part.size()) % 3 == 0;
  };
  while (!is_in_phase()) kept += ' ';
  return base64_encode(kept + '}', Base64Alphabet::url, Base64Padding::no);
}

// Canonical: the bits of the last character that belong to no byte are 0. Letters and digits only.
std::string random_base64url(std::size_t size, Random& random) {
  std::string out = random_base62(size - 1, random);
  const std::string_view last = size % 4 == 2   ? "AQgw"
                                : size % 4 == 3 ? "AEIMQUYcgkosw048"
                                                : kBase62;
  return out += last[random.below(static_cast<std::uint32_t>(last.size()))];
}

std::string random_bytes(std::size_t size, Random& random) {
  std::string out(size, '\0');
  random.fill({reinterpret_cast<std::uint8_t*>(out.data()), out.size()});
  return out;
}

}  // namespace

std::string base62_crc32(std::string_view text) {
  std::uint32_t crc = ~0U;
  for (const std::uint8_t byte : as_bytes(text)) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  crc = ~crc;
  std::string out(6, '0');
  for (std::size_t at = out.size(); crc != 0; crc /= 62) out[--at] = kBase62[crc % 62];
  return out;
}

std::optional<std::string> make_jwt(std::string_view value, Random& random) {
  const auto first = value.find('.');
  if (!value.starts_with("eyJ") || first == std::string_view::npos) return std::nullopt;
  const auto second = value.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const std::string_view signature = value.substr(second + 1);
  const bool is_base64url = std::all_of(signature.begin(), signature.end(),
                                        [](char c) { return is_alnum(c) || c == '-' || c == '_'; });
  if (!is_base64url || signature.size() < kSignatureChars || signature.size() % 4 == 1)
    return std::nullopt;
  const auto header = public_part(value.substr(0, first), kHeaderFields);
  const auto payload = public_part(value.substr(first + 1, second - first - 1), kClaims);
  if (!header || !payload) return std::nullopt;
  return *header + '.' + *payload + '.' + random_base64url(signature.size(), random);
}

std::optional<std::string> make_pypi(std::string_view value, Random& random) {
  constexpr std::string_view kPrefix = "pypi-";
  if (!value.starts_with(kPrefix)) return std::nullopt;
  const std::string_view body = value.substr(kPrefix.size());
  const std::size_t size = body.size() / 4 * 3 + body.size() % 4 * 3 / 4;
  if (body.size() % 4 == 1) return std::nullopt;
  using std::string_view_literals::operator""sv;
  for (const std::string_view location : {"pypi.org"sv, "test.pypi.org"sv}) {
    // Macaroon, version 2: location (1), identifier (2), end of the header, no caveats, signature (6).
    std::string token = std::string("\x02\x01") + static_cast<char>(location.size());
    token.append(location) += '\x02';
    const std::string head = base64_encode(token, Base64Alphabet::url, Base64Padding::no);
    // The last character of it may hold bits of what follows.
    const std::size_t sure = token.size() * 8 / 6;
    if (!body.starts_with(std::string_view(head).substr(0, sure))) continue;
    const std::string end = std::string("\0\0\x06\x20"sv) + random_bytes(32, random);
    const std::size_t fixed = token.size() + end.size();
    if (size < fixed + 1 + 16) return std::nullopt;
    std::size_t identifier = size - fixed - 1;
    if (identifier > 127) --identifier;  // its length takes two bytes
    if (identifier >= 1U << 14U) return std::nullopt;
    if (size - fixed - 1 > 127) {
      token += static_cast<char>(0x80U | (identifier & 0x7fU));
      token += static_cast<char>(identifier >> 7U);
    } else {
      token += static_cast<char>(identifier);
    }
    token += random_base62(identifier, random) + end;
    return std::string(kPrefix) + base64_encode(token, Base64Alphabet::url, Base64Padding::no);
  }
  return std::nullopt;
}

}  // namespace warder
