// RFC 7292, written by hand: OpenSSL's own functions parse each certificate again and are ten times slower, and every
// `warder run` makes one of these.
#include "certs/java_store.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pkcs12.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string_view>

namespace warder {
namespace {

using std::string_view_literals::operator""sv;

// The password of every JDK's own store. It protects nothing: what is in there is public.
constexpr std::string_view kPassword = "changeit";
// A guess at the password is worth nothing, so no time is spent on making it hard.
constexpr int kIterations = 100;
constexpr std::size_t kMacSize = 20;
// The same each time, so that the same certificates give the same file.
constexpr std::string_view kSalt = "warder trust store";

enum : std::uint8_t {
  kInteger = 0x02,
  kOctets = 0x04,
  kBmpString = 0x1e,
  kSequence = 0x30,
  kSet = 0x31,
  kExplicit0 = 0xa0,
};

// Whole object identifiers, as they stand in the file.
constexpr auto kData = "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"sv;
constexpr auto kCertBag = "\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01\x03"sv;
constexpr auto kX509 = "\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x09\x16\x01"sv;
constexpr auto kFriendlyName = "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x14"sv;
// 2.16.840.1.113894.746875.1.1: Oracle's "trusted for"; an entry without it is none for a JVM.
constexpr auto kTrustedKeyUsage = "\x06\x0c\x60\x86\x48\x01\x86\xf9\x66\xad\xca\x7b\x01\x01"sv;
constexpr auto kAnyUsage = "\x06\x04\x55\x1d\x25\x00"sv;
// HMAC with SHA-1: the one that Java 8 knows in all its versions.
constexpr auto kSha1 = "\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00"sv;

std::string tagged(std::uint8_t tag, std::string_view content) {
  std::string out(1, static_cast<char>(tag));
  const std::size_t size = content.size();
  if (size < 0x80) {
    out += static_cast<char>(size);
  } else {
    int bytes = 1;
    while (size >> (8 * bytes) != 0) ++bytes;
    out += static_cast<char>(0x80 | bytes);
    for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(size >> (8 * i) & 0xff);
  }
  out += content;
  return out;
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

std::string attribute(std::string_view identifier, std::string_view value) {
  return tagged(kSequence, joined({identifier, tagged(kSet, value)}));
}

// Aliases must differ, and JVMs lower their letters. Of one length, so that the set of attributes is in DER's order.
std::string alias(std::size_t number) {
  std::array<char, 24> ascii{};
  std::snprintf(ascii.data(), ascii.size(), "root-%06zu", number);
  std::string wide;
  for (const char c : std::string_view(ascii.data())) wide += {'\0', c};
  return wide;
}

std::string bag(std::string_view certificate, std::size_t number) {
  const std::string content =
      tagged(kSequence, joined({kX509, tagged(kExplicit0, tagged(kOctets, certificate))}));
  const std::string attributes = attribute(kTrustedKeyUsage, kAnyUsage) +
                                 attribute(kFriendlyName, tagged(kBmpString, alias(number)));
  return tagged(kSequence,
                joined({kCertBag, tagged(kExplicit0, content), tagged(kSet, attributes)}));
}

std::string content_info(std::string_view data) {
  return tagged(kSequence, joined({kData, tagged(kExplicit0, tagged(kOctets, data))}));
}

[[noreturn]] void fail() {
  ERR_clear_error();
  throw std::runtime_error("cannot make the trust store for Java");
}

std::string mac_data(std::string_view over) {
  std::array<unsigned char, kMacSize> key{};
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned int size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(over.data());
  std::string salt(kSalt);
  if (PKCS12_key_gen_utf8(kPassword.data(), static_cast<int>(kPassword.size()),
                          reinterpret_cast<unsigned char*>(salt.data()),
                          static_cast<int>(salt.size()), PKCS12_MAC_ID, kIterations, kMacSize,
                          key.data(), EVP_sha1()) != 1 ||
      HMAC(EVP_sha1(), key.data(), kMacSize, data, over.size(), mac.data(), &size) == nullptr) {
    fail();
  }
  const std::string_view text(reinterpret_cast<const char*>(mac.data()), kMacSize);
  const std::string digest = tagged(kSequence, joined({kSha1, tagged(kOctets, text)}));
  static_assert(kIterations < 0x80, "one byte of an INTEGER");
  return tagged(kSequence,
                joined({digest, tagged(kOctets, kSalt),
                        tagged(kInteger, std::string(1, static_cast<char>(kIterations)))}));
}

}  // namespace

std::string java_trust_store(std::span<const std::string> certificates) {
  std::string bags;
  std::size_t number = 0;
  for (const std::string& certificate : certificates) bags += bag(certificate, ++number);
  const std::string safe = tagged(kSequence, content_info(tagged(kSequence, bags)));
  const std::string version = tagged(kInteger, "\x03"sv);
  return tagged(kSequence, joined({version, content_info(safe), mac_data(safe)}));
}

}  // namespace warder
