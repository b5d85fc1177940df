// A secret's value: guarded, locked, wiped memory; cannot be printed, copied or compared by
// accident.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace warder {

class SecretValue {
 public:
  // Copies `plain` into sodium_malloc'ed memory, locks it (checks mlock itself: sodium hides the
  // failure) and makes it read-only. Throws std::bad_alloc or std::system_error naming
  // RLIMIT_MEMLOCK. Each value locks at least one page of its own.
  explicit SecretValue(std::string_view plain);
  SecretValue(SecretValue&& other) noexcept;
  SecretValue& operator=(SecretValue&& other) noexcept;
  SecretValue(const SecretValue&) = delete;
  SecretValue& operator=(const SecretValue&) = delete;
  ~SecretValue();  // wiped

  // The one way to see it. `use` gets a view that dies with this object; copies are the caller's to
  // wipe.
  template <class F>
  decltype(auto) reveal(F&& use) const {
    return use(view());
  }
  std::size_t size() const { return size_; }
  friend std::ostream& operator<<(std::ostream&, const SecretValue&) = delete;

 private:
  std::string_view view() const { return {data_, size_}; }
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

// Why these bytes cannot be a secret's value, as the end of a sentence ("is shorter than 8 bytes"),
// which never quotes them; nullopt when they can. Control bytes would end a field or a head where
// the value is swapped in; outer white space would be trimmed on the way; short values occur in any
// text.
std::optional<std::string> refuse_value(std::string_view value);

// Takes as long whatever the bytes are, but for their number.
bool same_value(const SecretValue& a, const SecretValue& b);

// Overwrites the bytes of a transient copy in a way that the compiler keeps.
void wipe(char* data, std::size_t size);
// The same for all that a string holds, its unused capacity included; leaves it empty.
void wipe(std::string& text);

}  // namespace warder
