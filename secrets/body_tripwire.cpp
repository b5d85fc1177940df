// The streaming part of swap.hpp: placeholders in request bodies.
#include <algorithm>

#include "secrets/swap.hpp"

namespace warder {

using Input = StreamScanner::Input;

BodyTripwire::BodyTripwire(const SessionSecrets& secrets)
    : secrets_(secrets),
      foreign_(secrets.foreign().placeholders),
      own_scanner_(secrets.placeholders()) {
  if (foreign_) foreign_scanner_.emplace(*foreign_);
}

std::string_view BodyTripwire::feed(std::string_view in, std::string& scratch) {
  return pass(in, Input::more, scratch);
}

std::string_view BodyTripwire::finish(std::string& scratch) {
  return pass({}, Input::last, scratch);
}

std::string_view BodyTripwire::pass(std::string_view in, Input input, std::string& scratch) {
  if (hit()) return {};
  std::string_view text = in;
  if (!held_.empty()) {
    scratch.assign(held_).append(in);
    text = scratch;
  }
  if (const auto begin = find_first(text, input)) {
    held_.clear();
    return text.substr(0, *begin);
  }
  std::size_t settled = own_scanner_.settled();
  if (foreign_scanner_) settled = std::min(settled, foreign_scanner_->settled());
  held_.assign(text.substr(settled));
  own_scanner_.drop(settled);
  if (foreign_scanner_) foreign_scanner_->drop(settled);
  return text.substr(0, settled);
}

std::optional<std::size_t> BodyTripwire::find_first(std::string_view text, Input input) {
  const auto own = own_scanner_.next(text, input);
  const auto foreign = foreign_scanner_ ? foreign_scanner_->next(text, input) : std::nullopt;
  // The table of all sessions has our own too: what begins where one of ours does is ours.
  if (own && (!foreign || own->begin <= foreign->begin)) {
    reason_ = Reason::placeholder_wrong_place;
    secret_ = secrets_.credentials()[own->pattern].name;
    return own->begin;
  }
  if (!foreign) return std::nullopt;
  reason_ = Reason::placeholder_foreign;
  return foreign->begin;
}

}  // namespace warder
