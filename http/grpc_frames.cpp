#include "http/grpc_frames.hpp"

#include "http/chars.hpp"

namespace warder {

bool is_grpc(const HeaderList& fields) {
  const HeaderField* type = fields.find("content-type");
  if (type == nullptr) return false;
  const std::string_view essence =
      trim(std::string_view(type->value).substr(0, type->value.find(';')));
  const std::string_view base = essence.substr(0, essence.find('+'));
  return same_name(base, "application/grpc") || same_name(base, "application/grpc-web");
}

void write_grpc_prefix(std::string& out, GrpcPrefix prefix) {
  out += static_cast<char>(prefix.flags);
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(prefix.length >> static_cast<unsigned>(shift) & 0xffU);
}

GrpcParser::Event GrpcParser::next(std::string_view& in) {
  if (place_ == Place::failed) return Event::malformed;
  if (place_ == Place::payload) {
    if (left_ == 0) {
      place_ = Place::prefix;
      return Event::end;
    }
    if (in.empty()) return Event::need_more;
    payload_ = in.substr(0, left_);
    in.remove_prefix(payload_.size());
    left_ -= static_cast<std::uint32_t>(payload_.size());
    return Event::payload;
  }
  while (known_ < bytes_.size()) {
    if (in.empty()) return Event::need_more;
    bytes_.at(known_++) = in.front();
    in.remove_prefix(1);
  }
  known_ = 0;
  prefix_ = {static_cast<std::uint8_t>(bytes_[0]), 0};
  for (std::size_t i = 1; i < bytes_.size(); ++i)
    prefix_.length = prefix_.length << 8U | static_cast<unsigned char>(bytes_.at(i));
  constexpr unsigned kMeaning = GrpcPrefix::kCompressed | GrpcPrefix::kTrailers;
  place_ = (prefix_.flags & ~kMeaning) == 0 ? Place::payload : Place::failed;
  if (place_ == Place::failed) return Event::malformed;
  left_ = prefix_.length;
  return Event::prefix;
}

}  // namespace warder
