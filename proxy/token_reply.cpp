// The answer of a token endpoint on its way down: read whole, its tokens kept here, placeholders in their places.
#include "secrets/token_reply.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "http/coding.hpp"
#include "proxy/exchange.hpp"
#include "proxy/metering.hpp"
#include "secrets/followed_mask.hpp"
#include "secrets/secret_value.hpp"

namespace warder {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} * 1024;

Refusal plain(Reason reason, std::string detail = {}) {
  Refusal refusal;
  refusal.reason = reason;
  refusal.detail = std::move(detail);
  return refusal;
}

Refusal uncaptured(const Exchange& exchange, const std::string& why) {
  return plain(Reason::response_unmaskable,
               "a reply that capture '" + exchange.capture->name + "' covers " + why);
}

std::string media_type(const ResponseHead& head) {
  const HeaderField* field = head.fields.find("content-type");
  if (field == nullptr) return "";
  std::string type = field->value.substr(0, field->value.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  return type;
}

// How tokens could stand in it.
enum class Holds : std::uint8_t {
  readable,  // as JSON or a form
  page,      // for people, or a file: passes if no token field is named in it
  nothing,   // what no program takes for text
  unknown,  // in a way that is not read here: XML (which GitHub answers to who asks for it), YAML, CBOR
};

Holds what_may_stand_in(const ResponseHead& head) {
  const std::string type = media_type(head);
  const bool script = type.ends_with("/javascript") || type.ends_with("/x-javascript");
  if (type.empty() || type.ends_with("json") || type == "application/x-www-form-urlencoded" ||
      type == "text/plain" || script)
    return Holds::readable;
  if (type == "text/html" || type == "application/octet-stream") return Holds::page;
  for (const std::string_view kind :
       {"text/css", "image/", "font/", "audio/", "video/", "application/pdf"}) {
    if (type.starts_with(kind)) return Holds::nothing;
  }
  return Holds::unknown;
}

TokenReplyForm form_of(const ResponseHead& head, std::string_view body) {
  const std::string type = media_type(head);
  if (type == "application/x-www-form-urlencoded") return TokenReplyForm::form;
  if (type.ends_with("json")) return TokenReplyForm::json;
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && (body[first] == '{' || body[first] == '[');
  return json ? TokenReplyForm::json : TokenReplyForm::form;
}

// The whole body. nullopt: `failed` says why there is none.
Task<std::optional<WipedBytes>> gather(Exchange& exchange, Refusal& failed) {
  WipedBytes body;
  body.reserve(4096);
  for (;;) {
    const BodyStep step = co_await exchange.origin->read_body();
    if (step.kind == BodyStep::Kind::end) co_return std::move(body);
    if (step.kind == BodyStep::Kind::failed) {
      failed = exchange.ended           ? plain(*exchange.ended)
               : exchange.upload.failed ? *exchange.upload.failed
                                        : plain(step.reason, step.detail);
      co_return std::nullopt;
    }
    if (body.size() + step.piece.size() > kMostBytes) {
      failed = uncaptured(exchange, "is longer than 256 KiB");
      co_return std::nullopt;
    }
    body.insert(body.end(), step.piece.begin(), step.piece.end());
  }
}

// Behind the same scheme it would cover the beginning of a secret, and leave the rest to be seen.
bool begins_secret(const Exchange& exchange, std::string_view value) {
  const std::string_view bare = without_scheme(value);
  if (bare.size() == value.size()) return false;
  const auto secrets = exchange.session.secrets.now();
  const auto& credentials = secrets->credentials();
  return std::any_of(credentials.begin(), credentials.end(), [&](const Credential& each) {
    return each.value && each.value->reveal([&](std::string_view held) {
      return held.size() > bare.size() && held.starts_with(bare);
    });
  });
}

// The body with placeholders in it; or why it must not pass.
std::variant<std::string, Refusal> captured(Exchange& exchange, const WipedBytes& body) {
  const Capture& capture = *exchange.capture;
  if (what_may_stand_in(exchange.origin->head()) == Holds::page) {
    if (names_token(as_view(body), capture.fields))
      return uncaptured(exchange, "names a token in a page");
    std::string page(as_view(body));
    const FollowedMask masks(exchange.session.secrets);
    if (const std::size_t n = masks.set().mask(page); n != 0)
      exchange.receipt.masked.push_back({"", "body", "", n});
    return page;
  }
  const TokenReplyForm form = form_of(exchange.origin->head(), as_view(body));
  auto read = read_token_reply(as_view(body), form, capture.fields);
  if (const auto* why = std::get_if<std::string>(&read)) return uncaptured(exchange, *why);
  const TokenReply& reply = std::get<TokenReply>(read);
  std::vector<LiveSecrets::Minted> minted;
  for (const TokenReply::Token& token : reply.tokens) {
    if (auto why = refuse_value(as_view(token.value)))
      return uncaptured(exchange, "has a '" + token.field + "' that " + *why);
    if (!is_token_text(as_view(token.value)) || begins_secret(exchange, as_view(token.value)))
      return uncaptured(exchange, "has a '" + token.field + "' that is no token");
    LiveSecrets::Minted made{capture.name + '.' + token.field, as_view(token.value),
                             capture.grants_of(token.field), std::nullopt};
    // What refreshes the others outlives them.
    const bool lasts = token.field == "refresh_token";
    if (reply.expires_in && !lasts) made.expires = exchange.began + *reply.expires_in;
    minted.push_back(std::move(made));
  }
  std::vector<std::string> placeholders;
  if (!minted.empty()) {
    SystemRandom random;
    const auto is_policy_kept = [&] {
      return exchange.session.policy.changes() == exchange.policy->generation;
    };
    placeholders = exchange.session.secrets.mint(minted, random, is_policy_kept);
    if (placeholders.empty() && !is_policy_kept())
      return plain(Reason::policy_changed, "the policy changed before its tokens could be kept");
    if (placeholders.empty())
      return uncaptured(exchange,
                        "is one too many: what the session was given before has not run out yet, "
                        "and is still masked");
  }
  for (const TokenReply::Token& token : reply.tokens) {
    exchange.receipt.masked.push_back(
        {capture.name + '.' + token.field, "body:" + token.field, "captured", 1});
  }
  std::string out = with_tokens_replaced(as_view(body), reply, placeholders);
  const FollowedMask masks(exchange.session.secrets);  // what was just minted among them
  if (const std::size_t n = masks.set().mask(out); n != 0)
    exchange.receipt.masked.push_back({"", "body", "", n});
  return out;
}

}  // namespace

Task<std::optional<Refusal>> relay_token_reply(Exchange& exchange) {
  ResponseHead& head = exchange.origin->head();
  const Framing framing = exchange.origin->framing();
  const bool is_empty = framing.kind == Framing::Kind::none ||
                        (framing.kind == Framing::Kind::length && framing.length == 0);
  const Holds holds = what_may_stand_in(head);
  if (is_empty || holds == Holds::nothing) co_return co_await relay_response(exchange);
  if (holds == Holds::unknown)
    co_return uncaptured(exchange, "is neither JSON nor a form: ask for application/json");
  if (head.status == 206) co_return uncaptured(exchange, "is a part of one (206)");
  const ContentCodings codings = content_codings(head.fields);
  if (!codings.known || !codings.applied.empty())
    co_return uncaptured(exchange, "is coded although identity was asked for");
  Refusal failed;
  const auto body = co_await gather(exchange, failed);
  if (!body) co_return std::move(failed);
  auto refused_for_size = co_await pay(exchange, Meter::Way::down, body->size());
  if (refused_for_size) co_return refused_for_size;
  auto made = captured(exchange, *body);
  if (auto* refused = std::get_if<Refusal>(&made)) co_return std::move(*refused);
  const std::string& text = std::get<std::string>(made);

  if (!exchange.is_request_done()) exchange.client_keeps_alive = false;
  const AfterThis after = exchange.client_keeps_alive ? AfterThis::keep_open : AfterThis::close;
  for (const char* name : {"content-length", "content-md5", "digest", "content-digest",
                           "repr-digest", "accept-ranges", "etag"}) {
    head.fields.remove(name);
  }
  const FollowedMask masks(exchange.session.secrets);
  ResponsePlan plan =
      prepare_response(head, Framing(), masks.set(), exchange.client_version, after);
  for (audit::SecretMasked& entry : plan.masked)
    exchange.receipt.masked.push_back(std::move(entry));
  head.fields.add("Content-Length", std::to_string(text.size()));
  exchange.receipt.status = head.status;
  if (!plan.is_well_formed || !exchange.client.begin_answer(head, Delivery::length))
    co_return plain(Reason::upstream_broken, "the response head is malformed");
  exchange.answered = true;
  HeaderList& trailers = exchange.origin->trailers();
  mask_fields(trailers, masks.set(), "trailer:", exchange.receipt.masked);
  exchange.client.hold(text);
  if (!exchange.client.hold_end({}, trailers))
    co_return plain(Reason::upstream_broken, "the trailers are malformed");
  if (exchange.upload.failed) co_return *exchange.upload.failed;
  if (!exchange.close_receipt(Reason::none, head.status))
    co_return plain(Reason::audit_unavailable);
  if (!co_await exchange.client.flush()) co_return plain(Reason::client_broken);
  co_return std::nullopt;
}

}  // namespace warder
