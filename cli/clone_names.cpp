#include "cli/clone_names.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace warder {
namespace {

namespace fs = std::filesystem;

// FNV-1a: the same in every build, since it is kept.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

KnownNames KnownNames::below(const fs::path& root) {
  KnownNames names;
  const std::size_t skipped = root.native().size() + (root.has_filename() ? 1 : 0);
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(root, options, error), end; !error && entry != end;
       entry.increment(error)) {
    names.hashes_.push_back(hash_of(std::string_view(entry->path().native()).substr(skipped)));
  }
  std::sort(names.hashes_.begin(), names.hashes_.end());
  return names;
}

void KnownNames::write(const fs::path& file) const {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(hashes_.data()),
            static_cast<std::streamsize>(hashes_.size() * sizeof hashes_[0]));
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

KnownNames KnownNames::read(const fs::path& file) {
  KnownNames names;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  if (error) throw std::runtime_error("cannot read " + file.string() + ": " + error.message());
  names.hashes_.resize(size / sizeof names.hashes_[0]);
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(names.hashes_.data()),
          static_cast<std::streamsize>(names.hashes_.size() * sizeof names.hashes_[0]));
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return names;
}

bool KnownNames::have(const fs::path& path) const {
  return std::binary_search(hashes_.begin(), hashes_.end(), hash_of(path.native()));
}

}  // namespace warder
