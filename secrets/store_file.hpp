// The built-in store's files: the store itself, replaced as a whole; its key; the lock that lets one writer at a time in.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/random.hpp"
#include "secrets/file_stamp.hpp"
#include "secrets/wiped.hpp"

namespace warder {

// All throw std::runtime_error: one sentence that names the file.

struct StoreBytes {
  std::string bytes;  // sealed: nothing to wipe
  FileStamp stamp;
};
// nullopt: there is none.
std::optional<StoreBytes> read_store_file(const std::filesystem::path& file);

// FILE.lock, held by one writer; a reader needs none. Waits at most `limit`.
class StoreLock {
 public:
  StoreLock(const std::filesystem::path& file, std::chrono::milliseconds limit);

 private:
  Fd fd_;
};

// With the lock held. Whoever reads, and whatever happens meanwhile, finds the file before or after: a draft beside it
// ("FILE.new", 0600), on the disk, then renamed, then the directory on the disk too.
void replace_store_file(const std::filesystem::path& file, std::string_view bytes);

// 32 bytes in hex. Refuses a file that others may read or that is another user's.
WipedBytes read_store_key(const std::filesystem::path& file);
// Makes it (0600, and its directory 0700) unless there is one; never replaces one.
void make_store_key(const std::filesystem::path& file, Random& random);
// The key in `text`: 64 hex digits, with a line break or without, or the 32 bytes themselves. nullopt: it is neither.
std::optional<WipedBytes> store_key_of(std::string_view text);

}  // namespace warder
