#include "secrets/secret_value.hpp"

#include <sodium.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "secrets/placeholder.hpp"

namespace warder {
namespace {

void start_sodium() {
  static const bool kReady = sodium_init() >= 0;
  if (!kReady) throw std::runtime_error("libsodium cannot be initialised");
}

std::string lock_failure() {
  rlimit limit{};
  std::string text = "cannot lock the memory of a secret: ";
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    text += "RLIMIT_MEMLOCK is " + std::to_string(limit.rlim_cur) +
            " bytes and every secret needs a page of its own; ";
  } else {
    text += "RLIMIT_MEMLOCK does not say why; ";
  }
  return text + "raise it (ulimit -l, LimitMEMLOCK= in a systemd unit)";
}

}  // namespace

SecretValue::SecretValue(std::string_view plain) {
  start_sodium();
  auto* data = static_cast<char*>(sodium_malloc(plain.size()));
  if (data == nullptr) throw std::bad_alloc();
  // sodium_malloc has tried this already and kept quiet; locking twice counts once.
  if (sodium_mlock(data, plain.size()) != 0) {
    const int error = errno;
    sodium_free(data);
    throw std::system_error(error, std::generic_category(), lock_failure());
  }
  if (!plain.empty()) std::memcpy(data, plain.data(), plain.size());
  if (sodium_mprotect_readonly(data) != 0) {
    const int error = errno;
    sodium_free(data);
    throw std::system_error(error, std::generic_category(),
                            "cannot protect the memory of a secret");
  }
  data_ = data;
  size_ = plain.size();
}

SecretValue::SecretValue(SecretValue&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SecretValue& SecretValue::operator=(SecretValue&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SecretValue::~SecretValue() { sodium_free(data_); }

std::optional<std::string> refuse_value(std::string_view value) {
  if (value.empty()) return "is empty";
  if (value.size() < kMinSecretBytes) {
    return "is shorter than " + std::to_string(kMinSecretBytes) +
           " bytes, so it could not be told from ordinary text";
  }
  if (value.size() > kMaxSecretBytes) {
    return "is longer than " + std::to_string(kMaxSecretBytes) + " bytes";
  }
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(value.begin(), value.end(), is_control)) {
    return "holds a control character (such as a line break or NUL), which no header field can "
           "carry";
  }
  if (value.front() == ' ' || value.back() == ' ') return "begins or ends with a space";
  return std::nullopt;
}

bool same_value(const SecretValue& a, const SecretValue& b) {
  return a.reveal([&](std::string_view left) {
    return b.reveal([&](std::string_view right) {
      return left.size() == right.size() &&
             sodium_memcmp(left.data(), right.data(), left.size()) == 0;
    });
  });
}

void wipe(char* data, std::size_t size) {
  if (size != 0) sodium_memzero(data, size);
}

void wipe(std::string& text) {
  // Bytes between size and capacity may be left from a longer text.
  text.resize(text.capacity());
  wipe(text.data(), text.size());
  text.clear();
}

}  // namespace warder
