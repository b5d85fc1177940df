#include "audit/recover.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "audit/key_file.hpp"
#include "audit/walk.hpp"
#include "base/encoding.hpp"
#include "base/fd.hpp"

namespace warder::audit {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error("audit log " + file.string() + ": " + why);
}

[[noreturn]] void refuse(const std::filesystem::path& file, const Fault& fault) {
  fail(file,
       "broken at record " + std::to_string(fault.seq) + ", byte " + std::to_string(fault.offset) +
           ": " + fault.detail +
           "; keep the file as evidence (warder audit verify says more) and name another one");
}

// Bytes that a crash left: after them nothing may be a record.
bool is_torn_tail(LineReader& reader) {
  while (const RawLine* raw = reader.next()) {
    if (ParsedLine::parse(raw->bytes)) return false;
  }
  return true;
}

// The first line has nothing before it that vouches for the file: only the beginning of our own
// header, or space that was never written, may be cut. Anything else is somebody's file.
bool is_torn_header(std::string_view bytes) {
  constexpr std::string_view kBegin = "{\"v\":1,\"seq\":0,";
  return kBegin.starts_with(bytes.substr(0, kBegin.size())) ||
         bytes.find_first_not_of('\0') == std::string_view::npos;
}

// Copies everything from `offset` on into `to`, and hashes it.
Repair copy_tail(int fd, std::uint64_t offset, int to) {
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  Repair repair;
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    const auto at = static_cast<off_t>(offset + repair.size);
    const ssize_t n = ::pread(fd, buffer.data(), buffer.size(), at);
    if (n < 0) throw std::system_error(errno, std::system_category());
    if (n == 0) break;
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(n));
    crypto_hash_sha256_update(&state, as_bytes(piece).data(), piece.size());
    if (::write(to, piece.data(), piece.size()) != n) {
      throw std::system_error(errno, std::system_category());
    }
    repair.size += piece.size();
  }
  Digest hash;
  crypto_hash_sha256_final(&state, hash.data());
  repair.sha256 = hex_encode(hash);
  return repair;
}

// The copy is on the disk before the file is cut.
Repair put_aside(int fd, const std::filesystem::path& file, std::uint64_t offset) {
  std::filesystem::path aside;
  Fd to;
  for (int n = 1; !to; ++n) {
    aside = file.string() + ".torn-" + std::to_string(n);
    to.reset(::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!to && errno != EEXIST) fail(file, aside.string() + ": " + std::strerror(errno));
  }
  try {
    Repair repair = copy_tail(fd, offset, to.get());
    repair.file = aside.filename().string();
    if (::fsync(to.get()) != 0) throw std::system_error(errno, std::system_category());
    sync_directory(file.has_parent_path() ? file.parent_path() : ".");
    if (::ftruncate(fd, static_cast<off_t>(offset)) != 0 || ::fsync(fd) != 0) {
      throw std::system_error(errno, std::system_category());
    }
    return repair;
  } catch (const std::system_error& error) {
    fail(file, "its torn tail cannot be put aside: " + std::string(error.code().message()));
  }
}

}  // namespace

Recovered recover(int fd, const std::filesystem::path& file, const VerifierKey& key) {
  if (::lseek(fd, 0, SEEK_SET) < 0) fail(file, std::strerror(errno));
  LineReader reader(fd);
  Walker walker(key, Signatures::last);
  Recovered found;
  std::optional<std::uint64_t> torn;
  while (const RawLine* raw = reader.next()) {
    const auto fault = walker.feed(*raw);
    // A last line that lacks its newline is not whole, even where its JSON is.
    const bool half = !raw->ended || (fault && !ParsedLine::parse(raw->bytes));
    if (half && found.chain.size() == 0 && (raw->ended || !is_torn_header(raw->bytes))) {
      fail(file, "is not an audit log; name another file");
    }
    if (half) {
      torn = raw->offset;
      if (raw->ended && !is_torn_tail(reader)) refuse(file, *fault);
      break;
    }
    if (fault) refuse(file, *fault);
    found.size = raw->offset + raw->bytes.size() + 1;
    found.chain = walker.chain();
    found.clean = walker.closed();
  }
  if (reader.error()) fail(file, "cannot be read: " + reader.error().message());
  if (!walker.last_signature_good()) {
    fail(file, "its checkpoints are not signed by this gateway's key " + key.text() +
                   "; name another file, or bring the key back");
  }
  found.origin = found.chain.size() > 0 ? walker.origin() : std::string();
  if (torn) {
    found.clean = false;
    found.repair = put_aside(fd, file, *torn);
  }
  return found;
}

}  // namespace warder::audit
