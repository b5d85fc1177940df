// JSON text of records: strings that any bytes may go into and that cannot grow past a limit.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace warder::audit {

// Appends the inside of a JSON string: at most `limit` bytes of valid UTF-8, whatever `text` holds.
// What does not fit is cut at a character, and "…[+N]" says how many bytes of `text` were left out.
void append_escaped(std::string& out, std::string_view text, std::size_t limit);

// The same for a terminal: no byte that a terminal obeys.
std::string printable(std::string_view text);

// The text as it is, quotes and backslashes too, but for what a terminal obeys, which becomes \uXXXX: JSON means the same.
std::string harmless(std::string_view json);

// Writes `"key":value` members, in the order of the calls, to the end of `out`.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) {}

  Members& text(std::string_view key, std::string_view value, std::size_t limit);
  Members& flag(std::string_view key, std::same_as<bool> auto value) {
    begin(key);
    out_ += value ? "true" : "false";
    return *this;
  }
  Members& number(std::string_view key, std::integral auto value) {
    begin(key);
    out_ += std::to_string(value);
    return *this;
  }
  // At most `budget` bytes in all; a last element "…[+N]" stands for the N that had no room.
  Members& texts(std::string_view key, const std::vector<std::string>& values, std::size_t each,
                 std::size_t budget);
  // The same for objects: write(Members&, const T&) fills one in; the mark is {"name":"…[+N]"}.
  template <class T, class Write>
  Members& objects(std::string_view key, const std::vector<T>& values, std::size_t budget,
                   Write write) {
    std::vector<std::string> items;
    std::size_t room = budget;
    for (const T& value : values) {
      std::string item = "{";
      Members members(item);
      write(members, value);
      item += '}';
      const std::size_t size = item.size() + 1;
      items.push_back(std::move(item));
      if (size > room) break;
      room -= size;
    }
    return list(key, items, values.size(), budget, R"({"name":")", R"("})");
  }

 private:
  void begin(std::string_view key);
  Members& list(std::string_view key, const std::vector<std::string>& items, std::size_t total,
                std::size_t budget, std::string_view mark_before, std::string_view mark_after);

  std::string& out_;
  bool first_ = true;
};

}  // namespace warder::audit
