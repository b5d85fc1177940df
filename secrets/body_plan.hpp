// Which secrets a request's body, or a WebSocket's messages, may hold, and where: decided from the
// head, before a byte of them is read. Pure.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "http/authority.hpp"
#include "http/message.hpp"
#include "secrets/escapes.hpp"
#include "secrets/swap.hpp"

namespace warder {

struct BodyPlace {
  Place place;
  std::vector<std::uint32_t> credentials;  // indices; may be swapped there
  Grant::Foreign foreign = Grant::Foreign::refuse;
};

struct BodyPlan {
  enum class Format : std::uint8_t { other, json, form, grpc, ws_text, ws_binary };
  Format format = Format::other;
  // Of one body: values of JSON pointers or form keys, and at most one "anywhere" (body, ws).
  std::vector<BodyPlace> places;
  // By credential: how often a body or message may still hold its placeholder.
  std::vector<unsigned> left;
  // Every swap puts in as many bytes as it takes out (where the placeholder is spelt as it is).
  bool keeps_length = true;
  // What the places name: for the record, before anything leaves.
  std::vector<SecretUse> uses;

  // Nothing can be swapped or watched: the tripwire alone does.
  bool empty() const { return places.empty(); }
};

// What may be swapped in the body of a request whose head plan_swap() let pass with `swap`.
// Refuses (body_unswappable) a content coding, behind which nothing could be found.
std::variant<BodyPlan, SwapRefusal> plan_body(const RequestHead& head, const Authority& authority,
                                              const SessionSecrets& secrets, const SwapPlan& swap);
// The same for the messages of a WebSocket; `left` is what each of them may hold.
BodyPlan plan_messages(const Authority& authority, const SessionSecrets& secrets);

// Fields that would no longer be true of a body in which something was swapped; off they go, also
// from the trailers.
void drop_digests(HeaderList& fields);

}  // namespace warder
