// The built-in store as bytes: what it holds, and how that is sealed. Pure: files and passphrases are others' business.
//
//   magic     17 bytes  "warder-secrets 1\n"
//   kind       1 byte   0: a key of its own; 1: a passphrase through Argon2id
//   ops        8 bytes  Argon2id's passes         (0 when kind is 0)
//   memory     8 bytes  Argon2id's memory, bytes  (0 when kind is 0)
//   salt      16 bytes  Argon2id's salt           (zeros when kind is 0)
//   key id     8 bytes  tells a wrong key from a damaged file; BLAKE2b of a fixed text under the key
//   count      8 bytes  grows with every change
//   nonce     24 bytes  random, another for every change
//   sealed              XChaCha20-Poly1305 (IETF) over the entries, with all of the above as associated data
//
// Numbers are little-endian. One seal over everything: an entry that is changed, moved, taken from an older file or cut
// off makes all of it unreadable. The entries: their number (4 bytes), then each in order of names: name (1-byte length),
// version (4), made (8, Unix seconds), changed (8), value (4-byte length).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/random.hpp"
#include "secrets/wiped.hpp"

namespace warder {

struct StoreEntry {
  std::string name;  // [A-Za-z0-9_-], up to 64
  std::uint32_t version = 1;
  std::int64_t made = 0;  // Unix seconds
  std::int64_t changed = 0;
  WipedBytes value;
};

inline constexpr std::size_t kMostStoreEntries = 1000;
inline constexpr std::size_t kMostStoreBytes =
    20 * 1024 * 1024;  // 1000 of the longest values and more
inline constexpr std::size_t kStoreKeyBytes = 32;

struct StoreHeader {
  enum class Kind : std::uint8_t { key = 0, passphrase = 1 };
  Kind kind = Kind::key;
  std::uint64_t ops = 0;
  std::uint64_t memory = 0;
  std::string salt = std::string(16, '\0');
  std::string key_id = std::string(8, '\0');
  std::uint64_t count = 0;
  std::string nonce = std::string(24, '\0');
  friend bool operator==(const StoreHeader&, const StoreHeader&) = default;
};

// A name that an entry may have.
bool is_store_name(std::string_view name);

// The first part of a store's bytes, or what is wrong with it: the end of "the secret store FILE …". What Argon2id would
// need is bounded here, before anybody derives a key: the header is hostile until the seal is opened.
std::variant<StoreHeader, std::string> store_header(std::string_view file);

// Of kind passphrase: Argon2id. `key` gets kStoreKeyBytes. False: there is not enough memory for it.
bool derive_store_key(std::string_view passphrase, const StoreHeader& header, WipedBytes& key);
// A header for a new store: with a salt and today's Argon2id parameters if its kind is passphrase.
StoreHeader new_store_header(StoreHeader::Kind kind, Random& random);

// The entries, in order of names; or what is wrong, as above.
std::variant<std::vector<StoreEntry>, std::string> open_store(std::string_view file,
                                                              std::string_view key);
// The file's bytes, with a nonce of its own and the next count. The entries are in order of names. A store has at most
// kMostStoreEntries: throws std::length_error.
std::string seal_store(StoreHeader header, const std::vector<StoreEntry>& entries,
                       std::string_view key, Random& random);

// The part inside the seal, for whoever fuzzes it. nullopt: not entries.
std::optional<std::vector<StoreEntry>> parse_store_entries(std::string_view plain);
WipedBytes store_entries_text(const std::vector<StoreEntry>& entries);

}  // namespace warder
