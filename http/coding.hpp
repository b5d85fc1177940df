// Content codings by name (RFC 9110 section 8.4): what a response's body is wrapped in, and which
// of them a request may ask for. http/coding_decoder.hpp and http/coding_encoder.hpp do the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "http/message.hpp"

namespace warder {

enum class Coding : std::uint8_t {
  gzip,     // RFC 1952; also called x-gzip
  deflate,  // RFC 1950; read without its frame too, as browsers do
  br,       // RFC 7932, without large windows
  zstd,     // RFC 8878, windows of at most 8 MiB (RFC 9659)
};
std::string_view to_string(Coding coding);

inline constexpr std::size_t kMaxCodings = 3;  // one over another; docs/limits.md

// What the Content-Encoding fields say, in the order in which the codings were applied; identity
// and empty members are no coding.
struct ContentCodings {
  bool known = true;  // no: one has no meaning here, or they are more than kMaxCodings
  std::vector<Coding> applied;

  bool is_identity() const { return known && applied.empty(); }
  bool operator==(const ContentCodings&) const = default;
};
ContentCodings content_codings(const HeaderList& fields);

// Leaves in Accept-Encoding what a Decoder can undo, with the weights that the client gave; no field,
// or nothing left in it, becomes `identity`. `*` could mean anything: it goes, and where it refused
// all the rest (`*;q=0`), identity is refused in its place.
void keep_known_codings(HeaderList& fields);

// The same for gRPC's own field, where there is one: identity, gzip and deflate stay.
void keep_known_grpc_encodings(HeaderList& fields);

}  // namespace warder
