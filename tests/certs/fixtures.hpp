// What the certificate tests share: a clock that they own, and a verifier as strict as Python 3.13's.
#pragma once

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "certs/authority.hpp"
#include "tests/support/catch.hpp"

namespace warder::test {

struct FakeClock final : Clock {
  // 2026-11-29T20:53:20Z
  std::chrono::system_clock::time_point time{std::chrono::seconds(1'796'000'000)};
  std::chrono::system_clock::time_point now() const override { return time; }
  std::chrono::nanoseconds monotonic() const override { return time.time_since_epoch(); }
};

inline HostName host(std::string_view text) { return HostName::parse(text).value(); }

// A name of exactly `size` bytes with labels of at most 63.
inline std::string name_of(std::size_t size) {
  std::string name = "x.test";
  while (name.size() < size) {
    const std::size_t label = std::min<std::size_t>(63, size - name.size() - 1);
    // One byte left over cannot become a label and its dot: it lengthens the label before.
    if (size - name.size() == 1) return "x" + name;
    name = std::string(label, 'a') + "." + name;
  }
  return name;
}

inline std::string to_pem(X509* certificate) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  REQUIRE(PEM_write_bio_X509(out.get(), certificate) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

// X509_V_OK, or why a strict TLS client at `when` would refuse `leaf`.
inline int strict_verdict(X509* leaf, X509* trusted, std::chrono::system_clock::time_point when) {
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(),
                                                                      &X509_STORE_free);
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(
      X509_STORE_CTX_new(), &X509_STORE_CTX_free);
  REQUIRE(X509_STORE_add_cert(store.get(), trusted) == 1);
  REQUIRE(X509_STORE_CTX_init(context.get(), store.get(), leaf, nullptr) == 1);
  X509_VERIFY_PARAM* wanted = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_flags(wanted, X509_V_FLAG_X509_STRICT);
  X509_VERIFY_PARAM_set_purpose(wanted, X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM_set_time(wanted, std::chrono::system_clock::to_time_t(when));
  X509_verify_cert(context.get());
  return X509_STORE_CTX_get_error(context.get());
}

// A directory that goes with the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "warder-test-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string write(const std::string& name, std::string_view content) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary) << content;
    return file.string();
  }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace warder::test
