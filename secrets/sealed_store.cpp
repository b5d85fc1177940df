#include "secrets/sealed_store.hpp"

#include <sodium.h>

#include <algorithm>
#include <span>
#include <stdexcept>

#include "secrets/placeholder.hpp"

namespace warder {
namespace {

constexpr std::string_view kMagic = "warder-secrets 1\n";
constexpr std::size_t kHeaderBytes = 17 + 1 + 8 + 8 + 16 + 8 + 8 + 24;
constexpr std::size_t kSealBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr std::uint64_t kMostOps = 16;
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 30;
static_assert(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES == 24);
static_assert(crypto_aead_xchacha20poly1305_ietf_KEYBYTES == kStoreKeyBytes);
static_assert(crypto_pwhash_argon2id_SALTBYTES == 16);

void start_sodium() {
  if (sodium_init() < 0) throw std::runtime_error("libsodium cannot be initialised");
}

const std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}
std::uint8_t* bytes_of(std::string& text) { return reinterpret_cast<std::uint8_t*>(text.data()); }

template <class Bytes>
void put(Bytes& out, std::uint64_t number, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out.push_back(static_cast<char>(number >> (8 * i)));
}

// Takes from the front; whatever is missing makes it fail for good.
class Taker {
 public:
  explicit Taker(std::string_view left) : left_(left) {}
  std::string_view text(std::size_t size) {
    if (left_.size() < size) {
      failed_ = true;
      return {};
    }
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  std::uint64_t number(std::size_t size) {
    std::uint64_t value = 0;
    std::size_t shift = 0;
    for (const char c : text(size)) {
      value |= std::uint64_t{static_cast<unsigned char>(c)} << shift;
      shift += 8;
    }
    return value;
  }
  bool failed() const { return failed_; }
  bool at_end() const { return left_.empty(); }

 private:
  std::string_view left_;
  bool failed_ = false;
};

std::string key_id_of(std::string_view key) {
  start_sodium();
  static constexpr std::string_view kText = "warder-secrets key id";
  std::string full(crypto_generichash_BYTES_MIN, '\0');
  crypto_generichash(bytes_of(full), full.size(), bytes_of(kText), kText.size(), bytes_of(key),
                     key.size());
  full.resize(8);
  return full;
}

std::string header_bytes(const StoreHeader& header) {
  std::string out(kMagic);
  put(out, static_cast<std::uint64_t>(header.kind), 1);
  put(out, header.ops, 8);
  put(out, header.memory, 8);
  out += header.salt + header.key_id;
  put(out, header.count, 8);
  return out + header.nonce;
}

}  // namespace

bool is_store_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), fits);
}

std::variant<StoreHeader, std::string> store_header(std::string_view file) {
  if (!file.starts_with(kMagic)) {
    const bool cut = kMagic.starts_with(file);
    return cut ? "is cut off"
               : "is not a secret store, or of a version that this warder does not know";
  }
  if (file.size() < kHeaderBytes + kSealBytes) return "is cut off";
  if (file.size() > kMostStoreBytes) return "is larger than a store can be";
  Taker taker(file.substr(kMagic.size()));
  StoreHeader header;
  const std::uint64_t kind = taker.number(1);
  header.ops = taker.number(8);
  header.memory = taker.number(8);
  header.salt = taker.text(16);
  header.key_id = taker.text(8);
  header.count = taker.number(8);
  header.nonce = taker.text(24);
  if (kind > 1) return "is damaged: its kind of key is not known";
  header.kind = static_cast<StoreHeader::Kind>(kind);
  const bool derives = header.kind == StoreHeader::Kind::passphrase;
  const bool fits = derives ? header.ops >= crypto_pwhash_argon2id_OPSLIMIT_MIN &&
                                  header.ops <= kMostOps && header.memory <= kMostMemory &&
                                  header.memory >= crypto_pwhash_argon2id_MEMLIMIT_MIN
                            : header.ops == 0 && header.memory == 0;
  if (!fits) return "is damaged: its parameters make no sense";
  return header;
}

bool derive_store_key(std::string_view passphrase, const StoreHeader& header, WipedBytes& key) {
  start_sodium();
  key.assign(kStoreKeyBytes, '\0');
  return crypto_pwhash(reinterpret_cast<std::uint8_t*>(key.data()), key.size(), passphrase.data(),
                       passphrase.size(), bytes_of(std::string_view(header.salt)), header.ops,
                       static_cast<std::size_t>(header.memory), crypto_pwhash_ALG_ARGON2ID13) == 0;
}

StoreHeader new_store_header(StoreHeader::Kind kind, Random& random) {
  StoreHeader header;
  header.kind = kind;
  if (kind == StoreHeader::Kind::key) return header;
  header.ops = crypto_pwhash_argon2id_OPSLIMIT_MODERATE;
  header.memory = crypto_pwhash_argon2id_MEMLIMIT_MODERATE;
  random.fill({bytes_of(header.salt), header.salt.size()});
  return header;
}

std::variant<std::vector<StoreEntry>, std::string> open_store(std::string_view file,
                                                              std::string_view key) {
  auto read = store_header(file);
  if (auto* problem = std::get_if<std::string>(&read)) return std::move(*problem);
  const StoreHeader& header = std::get<StoreHeader>(read);
  if (key.size() != kStoreKeyBytes || header.key_id != key_id_of(key)) {
    return header.kind == StoreHeader::Kind::key ? "was not written with this key"
                                                 : "does not open with this passphrase";
  }
  const std::string_view sealed = file.substr(kHeaderBytes);
  WipedBytes plain(sealed.size() - kSealBytes + 1);  // never without memory, whatever it holds
  unsigned long long size = 0;
  const int opened = crypto_aead_xchacha20poly1305_ietf_decrypt(
      reinterpret_cast<std::uint8_t*>(plain.data()), &size, nullptr, bytes_of(sealed),
      sealed.size(), bytes_of(file), kHeaderBytes, bytes_of(std::string_view(header.nonce)),
      bytes_of(key));
  if (opened != 0) return "is damaged or was changed: its seal does not fit";
  plain.resize(static_cast<std::size_t>(size));
  auto entries = parse_store_entries(as_view(plain));
  if (!entries) return "holds what this warder cannot read";
  return std::move(*entries);
}

std::string seal_store(StoreHeader header, const std::vector<StoreEntry>& entries,
                       std::string_view key, Random& random) {
  if (entries.size() > kMostStoreEntries) throw std::length_error("the secret store is full");
  if (key.size() != kStoreKeyBytes) throw std::invalid_argument("a store's key has 32 bytes");
  header.key_id = key_id_of(key);
  ++header.count;
  random.fill({bytes_of(header.nonce), header.nonce.size()});
  std::string file = header_bytes(header);
  const WipedBytes plain = store_entries_text(entries);
  file.resize(kHeaderBytes + plain.size() + kSealBytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
      bytes_of(file) + kHeaderBytes, nullptr, bytes_of(as_view(plain)), plain.size(),
      bytes_of(std::string_view(file)), kHeaderBytes, nullptr,
      bytes_of(std::string_view(header.nonce)), bytes_of(key));
  return file;
}

std::optional<std::vector<StoreEntry>> parse_store_entries(std::string_view plain) {
  Taker taker(plain);
  const std::uint64_t many = taker.number(4);
  if (taker.failed() || many > kMostStoreEntries) return std::nullopt;
  std::vector<StoreEntry> entries;
  for (std::uint64_t i = 0; i < many; ++i) {
    StoreEntry entry;
    entry.name = taker.text(taker.number(1));
    entry.version = static_cast<std::uint32_t>(taker.number(4));
    entry.made = static_cast<std::int64_t>(taker.number(8));
    entry.changed = static_cast<std::int64_t>(taker.number(8));
    const std::string_view value = taker.text(taker.number(4));
    if (taker.failed() || !is_store_name(entry.name) || entry.version == 0) return std::nullopt;
    if (value.size() > kMaxSecretBytes) return std::nullopt;
    if (!entries.empty() && entries.back().name >= entry.name) return std::nullopt;
    entry.value.assign(value.begin(), value.end());
    entries.push_back(std::move(entry));
  }
  if (!taker.at_end()) return std::nullopt;
  return entries;
}

WipedBytes store_entries_text(const std::vector<StoreEntry>& entries) {
  WipedBytes out;
  put(out, entries.size(), 4);
  for (const StoreEntry& entry : entries) {
    put(out, entry.name.size(), 1);
    out.insert(out.end(), entry.name.begin(), entry.name.end());
    put(out, entry.version, 4);
    put(out, static_cast<std::uint64_t>(entry.made), 8);
    put(out, static_cast<std::uint64_t>(entry.changed), 8);
    put(out, entry.value.size(), 4);
    out.insert(out.end(), entry.value.begin(), entry.value.end());
  }
  return out;
}

}  // namespace warder
