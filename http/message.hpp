// What the rest of Warder knows of a message: heads as they were sent, fields in order, case kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warder {

struct HeaderField {
  std::string name;   // case as sent
  std::string value;  // without leading and trailing white space
  bool operator==(const HeaderField&) const = default;
};

// ASCII case-insensitive.
bool same_name(std::string_view a, std::string_view b);

// In order of arrival; a name may repeat.
class HeaderList {
 public:
  void add(std::string name, std::string value);
  // nullptr when there is none; the first one otherwise.
  const HeaderField* find(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  void remove(std::string_view name);
  void set(std::string_view name,
           std::string value);  // replaces the first, removes the rest, or adds
  // True when a field `name` holds `token` in its comma list (RFC 9110 section 5.6.1), any case.
  bool has_token(std::string_view name, std::string_view token) const;

  bool empty() const { return fields_.empty(); }
  std::size_t size() const { return fields_.size(); }
  auto begin() { return fields_.begin(); }
  auto end() { return fields_.end(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  void clear() { fields_.clear(); }
  std::vector<HeaderField>& fields() { return fields_; }
  bool operator==(const HeaderList&) const = default;

 private:
  std::vector<HeaderField> fields_;
};

struct RequestHead {
  std::string method;  // case kept: methods are case-sensitive
  std::string target;  // as sent: origin-form, absolute-form, authority-form or "*"
  int minor = 1;       // HTTP/1.minor
  HeaderList fields;
};

struct ResponseHead {
  int status = 0;
  std::string phrase;
  int minor = 1;
  HeaderList fields;
};

// How a body's end is found (RFC 9112 section 6.3).
struct Framing {
  enum class Kind : std::uint8_t { none, length, chunked, until_close };
  Kind kind = Kind::none;
  std::uint64_t length = 0;  // only for Kind::length
  bool operator==(const Framing&) const = default;
};

// docs/limits.md. What passes them is refused, never cut.
struct HeadLimits {
  std::size_t bytes = 256 * 1024;  // a whole head; 431, 502 upstream
  std::size_t fields = 1000;       // 431
  std::size_t target = 64 * 1024;  // 414
  std::size_t trailer_bytes = 64 * 1024;
};

}  // namespace warder
