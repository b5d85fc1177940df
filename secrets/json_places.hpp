// Finds the values that JSON pointers name while a JSON text passes: a strict tokenizer that keeps
// no more than the path to where it stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/place_finder.hpp"

namespace warder {

// RFC 6901, its tokens decoded. nullopt: no pointer (it begins with '/', and '~' stands before 0 or
// 1 only), or one that names the whole text.
std::optional<std::vector<std::string>> parse_json_pointer(std::string_view text);

class JsonPlaces final : public PlaceFinder {
 public:
  static constexpr std::size_t kMaxDepth = 512;

  explicit JsonPlaces(std::vector<std::vector<std::string>> pointers);

  // Every value that a pointer names, a duplicate too: strings without their quotes, numbers and
  // words as they are, objects and arrays never. From the first byte on that is no JSON, or lies
  // deeper than kMaxDepth, or behind the text's end, all is outside.
  PlaceRun next(std::string_view in) override;
  bool is_broken() const { return state_ == State::broken; }

 private:
  enum class State : std::uint8_t {
    value,
    first_element,  // a value, or ']'
    first_key,      // '"', or '}'
    key,
    in_key,
    colon,
    in_string,
    in_word,
    after_value,
    end,
    broken,
  };
  struct Level {
    bool is_object;
    std::uint64_t index = 0;
  };

  PlaceRun next_in_place(std::string_view in);
  void step(char c);
  void begin_value(char c);
  void open(bool is_object);
  void close(char c);
  void separate();
  void begin_member(std::string_view token);
  void take_key_byte(char c);
  bool passes_string_byte(char c);
  std::size_t named() const;

  std::vector<std::vector<std::string>> pointers_;
  std::vector<std::size_t> matched_;  // of each pointer, how many tokens lead to where we stand
  std::size_t longest_key_ = 0;       // that can match, as spelt
  std::vector<Level> levels_;
  std::string key_;
  bool key_is_too_long_ = false;
  State state_ = State::value;
  unsigned escape_left_ =
      0;  // bytes of an escape that are still to come; 5: which one is not known
  std::size_t inside_ = PlaceRun::kOutside;
  bool inside_string_ = false;
};

}  // namespace warder
