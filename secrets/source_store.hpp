// A secret in the built-in store. All sources of one store share what opens it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "secrets/sealed_store.hpp"
#include "secrets/source.hpp"
#include "secrets/store_file.hpp"

namespace warder {

// Opens a store again and again. Not thread-safe.
class StoreReader {
 public:
  // The key for a store with this header. Throws std::runtime_error: one sentence. Asked again when the key that it gave
  // does not fit any more.
  using KeyFor = std::function<WipedBytes(const StoreHeader&)>;
  StoreReader(std::filesystem::path file, KeyFor key_for);

  struct Opened {
    StoreHeader header;
    std::vector<StoreEntry> entries;
    FileStamp stamp;
  };
  // Or what is wrong, a sentence. A store older than one that this reader has opened is refused.
  std::variant<Opened, std::string> open();
  const std::filesystem::path& file() const { return file_; }
  // The key that opened it last, for writing it.
  const SecretValue* key() const { return key_ ? &*key_ : nullptr; }

 private:
  bool key_fits(const StoreHeader& header) const;
  std::string say(const std::string& problem) const;
  void take_key(const StoreHeader& header);

  const std::filesystem::path file_;
  const KeyFor key_for_;
  std::optional<SecretValue> key_;  // guarded memory; of key_header_'s kind and salt
  StoreHeader key_header_;
  std::uint64_t newest_ = 0;  // count of the newest store that was opened
};

std::unique_ptr<SecretSource> store_source(std::shared_ptr<StoreReader> store, std::string entry);

}  // namespace warder
