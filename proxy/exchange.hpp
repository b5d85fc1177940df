// One request and its answer on their way through: the state that handle() and its steps share.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "audit/record.hpp"
#include "http/authority.hpp"
#include "http/message.hpp"
#include "proxy/connection.hpp"
#include "proxy/legs.hpp"
#include "proxy/refusal.hpp"
#include "proxy/rewrite.hpp"
#include "proxy/ws_handshake.hpp"
#include "secrets/body_plan.hpp"
#include "secrets/body_swap.hpp"
#include "secrets/swap.hpp"

namespace warder {

// The request body on its way up, beside the response on its way down.
struct Upload {
  explicit Upload(asio::io_context& loop) : finished(loop, SteadyTime::max()) {}

  bool running = false;
  bool complete = false;       // the whole body has left
  bool stopping = false;       // the answer is there: no more is wanted
  std::uint64_t received = 0;  // bytes from the client
  std::optional<Refusal>
      failed;  // ended by the client, by us, or by a tripwire: the upstream was aborted
  asio::steady_timer finished;  // cancelled when running turns false
  // A small body whose length may change is read and swapped before its head leaves.
  std::optional<WipedBytes> whole;
  // Was read, as it came, before somebody was asked: the first to be taken, before what the client still sends.
  std::optional<WipedBytes> ahead;
  bool ahead_taken = false;
};

struct Exchange {
  Exchange(Connection& of, ClientLeg& with, IncomingRequest request);
  Exchange(Connection& of, ClientLeg& with, IncomingRequest request, Session::Snapshot now);
  Exchange(const Exchange&) = delete;
  // Whatever way it ends, an exchange that was let through leaves a receipt.
  ~Exchange();

  // Has all of the request been read and sent?
  bool is_request_done() const { return framing.kind == Framing::Kind::none || upload.complete; }
  // Writes the receipt. False: it could not be written, and the exchange must be aborted.
  bool close_receipt(Reason how, int status);

  Connection& connection;
  ClientLeg& client;
  std::unique_ptr<OriginLeg> origin;  // once it was reached
  Gateway& gateway;
  Session& session;
  const SteadyTime began = std::chrono::steady_clock::now();
  const std::shared_ptr<const SessionPolicy> policy;  // as they were when it began
  const std::shared_ptr<const SessionSecrets> secrets;
  RequestHead head;  // as the sandbox sent it, then as it leaves: never holds a value
  Framing framing;   // of the request's body
  HttpVersion client_version = HttpVersion::http11;
  bool client_keeps_alive = false;
  bool is_metered = false;  // one of its session's concurrent ones
  std::optional<Authority> authority;
  PrivateAddresses private_addresses = PrivateAddresses::refused;
  std::shared_ptr<const ClientIdentity> identity;  // a client certificate; may be null
  std::optional<std::uint64_t> max_body;           // bytes, of the rule that allowed it
  std::optional<std::uint64_t> body_limit;         // and of its session
  SwapPlan swap;
  BodyPlan body;                     // what its body, or a WebSocket's messages, may hold
  const Capture* capture = nullptr;  // what it asks for may be a token
  std::optional<WsOffer> websocket;  // the client asks for one
  std::string target;                // origin form
  std::string shown_path;            // as recorded
  audit::Receipt receipt;
  Verdict asked_by{};  // of the rule that asked, if one did
  // As the sandbox sent them, where a rule of its policy looks at them.
  std::optional<HeaderList> sent_fields;
  std::optional<std::uint64_t> sent_bytes = 0;
  std::uint64_t approval = 0;   // the record of the yes that it waited for; 0: none was needed
  bool let_through = false;     // the intent was accepted
  bool receipt_due = false;     // and its receipt is not written yet
  bool word_waits = false;      // the end of a word is held for a moment (download.cpp)
  std::optional<Reason> ended;  // from outside, and why: nothing more of it may pass
  bool answered = false;        // a final response head, or a 101, has left: too late to refuse
  bool said_close = false;  // a WebSocket's client was sent a Close frame: it must get to read it
  Upload upload;
};

// Sends the refusal if no answer has begun, else breaks the answer off; records whichever it is. (handle.cpp)
Task<After> refuse(Exchange& exchange, Refusal refusal);

// How long the origin may now be silent. While the request is still on its way it may be for as long as that takes,
// which has limits of its own. (download.cpp)
void limit_silence(Exchange& exchange);

// The end of a word that waits for more (secrets/mask.hpp) leaves after this all the same, within a sweep of the worker:
// what awaits an answer to it would wait for ever.
inline constexpr std::chrono::milliseconds kWordWait{50};
// An origin that is granted a secret knows it; to any other one, what is held must tell nothing.
Masker::Holding holding_for(const Exchange& exchange);
// Adds to the receipt what a mask found at `place`. (download.cpp)
void note_masked(Exchange& exchange, const std::vector<Masker::Count>& counts,
                 std::string_view place);
// What became of a request whose body, or messages, sprang the wire. (upload.cpp)
Refusal tripped(const Exchange& exchange, const BodyTripwire& tripwire, std::string_view where);
Refusal tripped(const Exchange& exchange, const SwapRefusal& refused, std::string_view where);
// Adds to the receipt what was swapped in the body, or in a message. (upload.cpp)
void note_swapped(Exchange& exchange, const std::vector<BodySwap::Count>& counts);

// Reads a small body to its end, for somebody to see: exchange.upload.ahead has it, where that can be done. (upload.cpp)
Task<std::optional<Refusal>> read_ahead(Exchange& exchange);

// What the body's swap asks of the head, before the intent: framing, length, digests; of a small body the swap itself.
// (upload.cpp)
Task<std::optional<Refusal>> prepare_body(Exchange& exchange);
// Request body → origin; runs beside relay_response(). (upload.cpp)
Task<> run_upload(Exchange& exchange);
Task<> stop_upload(Exchange& exchange);

// The final response head of this exchange, or the 101 that it asked for, with every other 1xx before it passed on.
// (download.cpp)
Task<std::optional<Refusal>> await_response(Exchange& exchange);
// Masks and relays the response whose head await_response() found. A refusal: it could not be, or it broke off.
Task<std::optional<Refusal>> relay_response(Exchange& exchange);
// The same for an answer of a token endpoint: what it mints becomes the sandbox's placeholders. (token_reply.cpp)
Task<std::optional<Refusal>> relay_token_reply(Exchange& exchange);
// The same where that head is a 101: its frames both ways, until one side is done. (websocket.cpp)
Task<std::optional<Refusal>> relay_websocket(Exchange& exchange);

}  // namespace warder
