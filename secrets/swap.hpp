// Placeholder → value in a request's head, only where a grant says; anything else is a tripwire.
// Pure. The policy has already decided: the decision must not depend on secret bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/reason.hpp"
#include "http/authority.hpp"
#include "http/message.hpp"
#include "secrets/matcher.hpp"
#include "secrets/session_secrets.hpp"

namespace warder {

struct SecretUse {
  std::string secret;
  unsigned version = 1;
  std::string place;  // "header:authorization", "basic", "query:key", "path"
  unsigned times{1};
  bool operator==(const SecretUse&) const = default;
};

// A credential of the sandbox's own that a grant lets be.
struct ForeignCredential {
  std::string place;     // "header:x-api-key", "query:key"
  Grant::Foreign what;   // strip or pass
  std::size_t index;     // of the field, or of the query pair
  std::size_t begin{0};  // of the pair in the target
  bool is_in_query() const { return begin != 0; }
};

struct SwapPlan {
  std::vector<SecretUse> uses;  // empty: the request's head holds no placeholder
  std::vector<ForeignCredential> foreign{};
};
struct SwapRefusal {
  Reason reason = Reason::internal;
  std::string secret;  // which, when a placeholder of this session was seen
  std::string place;   // where it was seen: "header:cookie", "target", "basic", "query:key"
  std::string suggestion;
};

// Looks, changes nothing: which placeholders are where, and are they legal at `authority`? Looks at
// method, target (also percent-decoded), field names and values (raw, and in Basic pairs decoded).
// Refuses in this order: a placeholder whose secret has no grant for the host; one in a wrong place
// (anywhere but in https, unless the grant says plain_http; TRACE, OPTIONS; a place that the grant
// does not name; beside a signature that was made with it; more of the same secret than the grant's
// max); another session's placeholder; a foreign credential on a host with a grant (Authorization
// and the places of all its grants), unless they all let it be; a secret without a value; one whose
// value would lead the path elsewhere.
std::variant<SwapPlan, SwapRefusal> plan_swap(const RequestHead& head, const Authority& authority,
                                              const SessionSecrets& secrets);

// Does what plan_swap found in the same head with the same secrets. Call it only after the audit
// intent is durable; the head then holds values: write it at once, then wipe_swapped(), which
// empties the fields that hold values.
// The target may have become origin form meanwhile.
void carry_out_swap(RequestHead& head, const SwapPlan& plan, const SessionSecrets& secrets);
void wipe_swapped(RequestHead& head, const SwapPlan& plan);

// Takes off what `plan`, made for these very fields (and this target), found foreign and says to
// strip.
void strip_foreign(HeaderList& fields, const SwapPlan& plan);
std::string strip_foreign(std::string target, const SwapPlan& plan);
// What a leg must keep out of indices and wipe: "x-api-key", "authorization", ":path".
std::vector<std::string> secret_fields(const SwapPlan& plan);

// A request body on its way out: a complete raw placeholder in it, this session's or another's, is
// a tripwire. Holds back what may become one, so that a completed placeholder never leaves.
class BodyTripwire {
 public:
  explicit BodyTripwire(const SessionSecrets& secrets);  // borrowed
  // Returns what may leave now (a view of `in` when nothing was held: no copy; else of `scratch`).
  // When it comes to a hit: what stands before it; after that nothing more.
  std::string_view feed(std::string_view in, std::string& scratch);
  std::string_view finish(std::string& scratch);
  bool hit() const { return reason_ != Reason::none; }
  // How many bytes have come in and not left; and could any ever be held?
  std::size_t held() const { return held_.size(); }
  bool can_hold() const { return foreign_ || !secrets_.placeholders().empty(); }
  // placeholder_wrong_place, placeholder_foreign; none without a hit. Whether a grant names the
  // host at all (else placeholder_wrong_host) is for the caller to say.
  Reason reason() const { return reason_; }
  const std::string& secret() const { return secret_; }  // empty for a foreign one

 private:
  std::string_view pass(std::string_view in, StreamScanner::Input input, std::string& scratch);
  std::optional<std::size_t> find_first(std::string_view text, StreamScanner::Input input);

  const SessionSecrets& secrets_;
  std::shared_ptr<const Matcher> foreign_;
  StreamScanner own_scanner_;
  std::optional<StreamScanner> foreign_scanner_;
  std::string held_;
  std::string secret_;
  Reason reason_ = Reason::none;
};

// The same look at trailers, which can carry no secret: any placeholder is wrong_place, and a field
// in which a credential could stand is a foreign one. The plan has no uses.
std::variant<SwapPlan, SwapRefusal> check_trailers(const HeaderList& trailers,
                                                   const Authority& authority,
                                                   const SessionSecrets& secrets);

}  // namespace warder
