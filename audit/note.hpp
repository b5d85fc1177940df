// Checkpoints as C2SP signed notes: what third parties' tools read, and the Ed25519 keys behind
// them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/chain.hpp"

namespace warder::audit {

inline constexpr std::string_view kKeyName = "warder-audit";

struct Checkpoint {
  std::string origin;
  std::uint64_t size = 0;
  Digest root{};
  bool operator==(const Checkpoint&) const = default;
};
std::string checkpoint_text(const Checkpoint& checkpoint);  // what is signed

// "name+hexkeyid+base64(0x01||public key)"
struct VerifierKey {
  std::string name;
  std::array<std::uint8_t, 4> id{};
  std::array<std::uint8_t, 32> public_key{};

  VerifierKey(std::string name, std::span<const std::uint8_t, 32> public_key);
  static std::optional<VerifierKey> parse(std::string_view text);  // a wrong id is refused
  std::string text() const;
};

struct SignedNote {
  struct Signature {
    std::string name;
    std::string bytes;  // key id and signature
  };
  Checkpoint checkpoint;
  std::string text;  // what is signed
  std::vector<Signature> signatures;

  static std::optional<SignedNote> parse(std::string_view note);
  bool signed_by(const VerifierKey& key) const;
};

// Holds the secret half in guarded, locked memory.
class SigningKey {
 public:
  explicit SigningKey(
      std::span<const std::uint8_t, 32> seed);           // throws when there is no such memory
  std::string sign(const Checkpoint& checkpoint) const;  // the whole note
  const VerifierKey& verifier() const { return verifier_; }

 private:
  struct Free {
    void operator()(std::uint8_t* bytes) const;
  };
  struct Pair;
  explicit SigningKey(Pair pair);
  static Pair derive(std::span<const std::uint8_t, 32> seed);

  std::unique_ptr<std::uint8_t, Free> secret_;
  VerifierKey verifier_;
};

}  // namespace warder::audit
