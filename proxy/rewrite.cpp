#include "proxy/rewrite.hpp"

#include <algorithm>

#include "http/coding.hpp"
#include "http/hop_by_hop.hpp"

namespace warder {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  return text;
}

// A mask that may change lengths makes these untrue before the first byte of the body is seen.
void drop_length_claims(HeaderList& fields) {
  for (const char* name : {"content-length", "content-md5", "digest", "content-digest",
                           "repr-digest", "accept-ranges"}) {
    fields.remove(name);
  }
  const HeaderField* etag = fields.find("etag");
  if (etag != nullptr && !etag->value.starts_with("W/")) fields.set("etag", "W/" + etag->value);
}

Delivery delivery_for(const Framing& framing, HttpVersion client, bool length_is_known) {
  if (framing.kind == Framing::Kind::none) return Delivery::none;
  if (framing.kind == Framing::Kind::length && length_is_known) return Delivery::length;
  return client == HttpVersion::http10 ? Delivery::until_close : Delivery::chunked;
}

std::string host_of(const Authority& authority) {
  return authority.port == default_port(authority.scheme) ? authority.host.uri_host()
                                                          : authority.host_port();
}

}  // namespace

std::string_view to_string(HttpVersion version) {
  switch (version) {
    case HttpVersion::http10: return "http/1.0";
    case HttpVersion::http11: return "http/1.1";
    case HttpVersion::http2: return "h2";
  }
  return "";
}

bool prepare_request(RequestHead& head, const Authority& authority, const std::string& origin_form,
                     SecretsInUse session_has, SecretsInUse swapped_here) {
  if (!strip_hop_by_hop(head.fields)) return false;
  head.target = origin_form;
  if (!head.fields.has("host")) {
    HeaderField host{"Host", host_of(authority)};
    head.fields.fields().insert(head.fields.fields().begin(), std::move(host));
  }
  // Spelt in another way (a dot at the end, letters beyond ASCII, an IPv6 address with zeros) a shared front might read it
  // by other rules than ours, as another host. Capitals are the same name to everybody, and stay.
  const std::string& named = head.fields.find("host")->value;
  if (!same_name(named, authority.host.uri_host()) && !same_name(named, authority.host_port()))
    head.fields.set("host", host_of(authority));
  head.minor = 1;
  if (session_has == SecretsInUse::yes) {
    keep_known_codings(head.fields);
    keep_known_grpc_encodings(head.fields);
  }
  if (swapped_here == SecretsInUse::yes) {
    head.fields.remove("range");
    head.fields.remove("if-range");
  }
  return true;
}

void mask_fields(HeaderList& fields, const MaskSet& masks, std::string_view prefix,
                 std::vector<audit::SecretMasked>& masked) {
  if (masks.empty()) return;
  for (HeaderField& field : fields) {
    // The name first: it is what is recorded.
    const std::size_t in_name = masks.mask(field.name);
    const std::string place = std::string(prefix) + lower(field.name);
    const auto note = [&](std::size_t count) {
      // Which secret and encoding a field held is not kept apart: one line per field says enough.
      if (count > 0) masked.push_back({"", place, "", count});
    };
    note(masks.mask(field.value));
    note(in_name);
  }
}

ResponsePlan prepare_response(ResponseHead& head, const Framing& framing, const MaskSet& masks,
                              HttpVersion client, AfterThis after, BodyLength length) {
  ResponsePlan plan;
  plan.is_well_formed = strip_hop_by_hop(head.fields);
  if (!plan.is_well_formed) return plan;
  head.fields.remove("alt-svc");  // leads past the gateway (RFC 7838)
  if (const std::size_t n = masks.empty() ? 0 : masks.mask(head.phrase)) {
    plan.masked.push_back({"", "phrase", "", n});
  }
  mask_fields(head.fields, masks, "header:", plan.masked);
  const bool mask_keeps = masks.empty() || !masks.changes_length();
  const bool keeps_length = mask_keeps && length == BodyLength::kept;
  if (!keeps_length) drop_length_claims(head.fields);
  plan.delivery = delivery_for(framing, client, keeps_length);
  const bool unknown = plan.delivery == Delivery::chunked || plan.delivery == Delivery::until_close;
  if (unknown) head.fields.remove("content-length");
  if (client != HttpVersion::http2) {
    if (plan.delivery == Delivery::chunked) head.fields.add("Transfer-Encoding", "chunked");
    const bool closes = after == AfterThis::close || plan.delivery == Delivery::until_close;
    if (closes) head.fields.add("Connection", "close");
  }
  head.minor = 1;
  return plan;
}

}  // namespace warder
