#include "secrets/form_places.hpp"

#include <algorithm>
#include <utility>

#include "secrets/escapes.hpp"

namespace warder {
namespace {

constexpr std::size_t kLongestSpelling = 3;  // of one byte of a key: %41

}  // namespace

FormPlaces::FormPlaces(std::vector<std::string> keys) : keys_(std::move(keys)) {
  for (const std::string& key : keys_)
    longest_key_ = std::max(longest_key_, key.size() * kLongestSpelling);
}

PlaceRun FormPlaces::next(std::string_view in) {
  if (inside_ != PlaceRun::kOutside) {
    const std::size_t end = in.find('&');
    if (end == std::string_view::npos) return {in.size(), inside_};
    return {end, std::exchange(inside_, PlaceRun::kOutside), true};
  }
  for (std::size_t at = 0; at < in.size(); ++at) {
    if (!in_key_) at = std::min(in.find('&', at), in.size() - 1);
    const char c = in[at];
    if (c == '&') {
      in_key_ = true;
      key_.clear();
    } else if (in_key_ && c == '=') {
      in_key_ = false;
      inside_ = named();
      if (inside_ != PlaceRun::kOutside) return {at + 1};
    } else if (in_key_ && key_.size() <= longest_key_) {
      key_ += c;
    }
  }
  return {in.size()};
}

std::size_t FormPlaces::named() const {
  std::string spaced = key_;
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  const Unescaped key = unescape(spaced, Escapes::percent);
  const auto found = std::find(keys_.begin(), keys_.end(), as_view(key.plain));
  const bool fits = key_.size() <= longest_key_ && found != keys_.end();
  return fits ? static_cast<std::size_t>(found - keys_.begin()) : PlaceRun::kOutside;
}

}  // namespace warder
