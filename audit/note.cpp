#include "audit/note.hpp"

#include <sodium.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/encoding.hpp"

namespace warder::audit {
namespace {

constexpr std::string_view kDash = "\xE2\x80\x94 ";  // "— ", before each signature
constexpr char kEd25519 = 0x01;

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

bool is_key_name(std::string_view name) {
  return !name.empty() && name.find_first_of("+ \t\r\n") == std::string_view::npos;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return value;
}

}  // namespace

std::string checkpoint_text(const Checkpoint& checkpoint) {
  return checkpoint.origin + "\n" + std::to_string(checkpoint.size) + "\n" +
         to_base64(checkpoint.root) + "\n";
}

VerifierKey::VerifierKey(std::string key_name, std::span<const std::uint8_t, 32> key)
    : name(std::move(key_name)) {
  std::copy(key.begin(), key.end(), public_key.begin());
  const std::string named = name + "\n" + kEd25519 + std::string(text_of(public_key));
  Digest hash;
  crypto_hash_sha256(hash.data(), as_bytes(named).data(), named.size());
  std::copy_n(hash.begin(), id.size(), id.begin());
}

std::optional<VerifierKey> VerifierKey::parse(std::string_view text) {
  const std::size_t first = text.find('+');
  const std::size_t second = first == std::string_view::npos ? first : text.find('+', first + 1);
  if (second == std::string_view::npos || !is_key_name(text.substr(0, first))) return std::nullopt;
  const auto bytes = base64_decode(text.substr(second + 1));
  if (!bytes || bytes->size() != 33 || bytes->front() != kEd25519) return std::nullopt;
  VerifierKey key(std::string(text.substr(0, first)), as_bytes(*bytes).subspan<1, 32>());
  if (hex_encode(key.id) != text.substr(first + 1, second - first - 1)) return std::nullopt;
  return key;
}

std::string VerifierKey::text() const {
  return name + "+" + hex_encode(id) + "+" +
         base64_encode(std::string(1, kEd25519) + std::string(text_of(public_key)));
}

std::optional<SignedNote> SignedNote::parse(std::string_view note) {
  if (!note.ends_with('\n')) return std::nullopt;
  const std::size_t blank = note.rfind("\n\n");
  if (blank == std::string_view::npos) return std::nullopt;
  SignedNote parsed;
  parsed.text = note.substr(0, blank + 1);
  std::string_view body = parsed.text;
  parsed.checkpoint.origin = take_line(body);
  const auto size = parse_size(take_line(body));
  const auto root = digest_from_base64(take_line(body));
  if (parsed.checkpoint.origin.empty() || !size || !root) return std::nullopt;
  parsed.checkpoint.size = *size;
  parsed.checkpoint.root = *root;
  for (std::string_view rest = note.substr(blank + 2); !rest.empty();) {
    std::string_view line = take_line(rest);
    if (!line.starts_with(kDash)) return std::nullopt;
    line.remove_prefix(kDash.size());
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    auto bytes = base64_decode(line.substr(space + 1));
    if (!is_key_name(line.substr(0, space)) || !bytes || bytes->size() < 5) return std::nullopt;
    parsed.signatures.push_back({std::string(line.substr(0, space)), *std::move(bytes)});
  }
  if (parsed.signatures.empty()) return std::nullopt;
  return parsed;
}

bool SignedNote::signed_by(const VerifierKey& key) const {
  return std::any_of(signatures.begin(), signatures.end(), [&](const Signature& signature) {
    const std::string_view bytes = signature.bytes;
    return signature.name == key.name && bytes.size() == 4 + crypto_sign_BYTES &&
           bytes.substr(0, 4) == text_of(key.id) &&
           crypto_sign_verify_detached(as_bytes(bytes).data() + 4, as_bytes(text).data(),
                                       text.size(), key.public_key.data()) == 0;
  });
}

struct SigningKey::Pair {
  std::unique_ptr<std::uint8_t, Free> secret;
  std::array<std::uint8_t, 32> public_key{};
};

void SigningKey::Free::operator()(std::uint8_t* bytes) const { sodium_free(bytes); }

SigningKey::Pair SigningKey::derive(std::span<const std::uint8_t, 32> seed) {
  if (sodium_init() < 0) throw std::runtime_error("libsodium could not be initialised");
  Pair pair;
  pair.secret.reset(static_cast<std::uint8_t*>(sodium_malloc(crypto_sign_SECRETKEYBYTES)));
  if (!pair.secret) throw std::runtime_error("no guarded memory for the audit log's key");
  crypto_sign_seed_keypair(pair.public_key.data(), pair.secret.get(), seed.data());
  sodium_mprotect_readonly(pair.secret.get());
  return pair;
}

SigningKey::SigningKey(Pair pair)
    : secret_(std::move(pair.secret)), verifier_(std::string(kKeyName), pair.public_key) {}

SigningKey::SigningKey(std::span<const std::uint8_t, 32> seed) : SigningKey(derive(seed)) {}

std::string SigningKey::sign(const Checkpoint& checkpoint) const {
  const std::string text = checkpoint_text(checkpoint);
  std::array<std::uint8_t, crypto_sign_BYTES> signature{};
  crypto_sign_detached(signature.data(), nullptr, as_bytes(text).data(), text.size(),
                       secret_.get());
  const std::string bytes = std::string(text_of(verifier_.id)) + std::string(text_of(signature));
  return text + "\n" + std::string(kDash) + verifier_.name + " " + base64_encode(bytes) + "\n";
}

}  // namespace warder::audit
