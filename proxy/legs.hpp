// The two ends of one exchange, whatever version of HTTP each of them speaks: what handle() and its steps talk to.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reason.hpp"
#include "http/message.hpp"
#include "proxy/io.hpp"
#include "proxy/rewrite.hpp"

namespace warder {

class Input;
class Stream;

// What is left of a leg when its connection changes protocols: the stream, and what came early on it.
struct RawLeg {
  Stream& stream;
  Input& input;
};

// One step of a body that is being read. `piece` stays valid until the step after the next is asked for.
struct BodyStep {
  enum class Kind : std::uint8_t { piece, end, failed };
  Kind kind = Kind::failed;
  std::string_view piece;
  Reason reason = Reason::internal;  // failed: why
  std::string detail;

  static BodyStep bytes(std::string_view piece) { return {Kind::piece, piece, Reason::none, {}}; }
  static BodyStep at_end() { return {Kind::end, {}, Reason::none, {}}; }
  static BodyStep broken(Reason why, std::string detail = {}) {
    return {Kind::failed, {}, why, std::move(detail)};
  }
};

// The sandbox's end. Made for one exchange; at most one reader of the body and one writer of the answer.
class ClientLeg {
 public:
  virtual ~ClientLeg() = default;

  virtual Task<BodyStep> read_body() = 0;
  virtual HeaderList& trailers() = 0;  // of the request, after its end
  // A read_body() that waits ends as failed.
  virtual void stop_reading() = 0;

  // 1xx. False: the client is gone.
  virtual Task<bool> write_interim(const ResponseHead& head) = 0;
  // The final head; it leaves with the first flush(). False: it cannot be written, and nothing has been.
  virtual bool begin_answer(const ResponseHead& head, Delivery delivery) = 0;
  // Forgets an answer that has begun, if not one byte of it has left; another one may begin then.
  virtual bool take_back() { return false; }
  // The next piece, one flush behind: it must stay valid until then. The last one leaves together with the end.
  virtual void hold(std::string_view piece) = 0;
  // The rest and the end, for one flush(). False: the trailers cannot be written.
  virtual bool hold_end(std::string_view rest, const HeaderList& trailers) = 0;
  // False: the client is gone.
  virtual Task<bool> flush() = 0;
  virtual std::uint64_t bytes_written() const = 0;  // of the body

  // While set, a client that goes away closes `origin`: nobody reads it while its answer is awaited.
  virtual void watch(Closable* origin) = 0;
  // Known to be gone already. False where only watch() can tell.
  virtual bool is_gone() const { return false; }
  // The answer must not look complete.
  virtual void abort() = 0;

  // After a 101 was written: nothing else may be asked of this leg but abort(). nullopt: its version has no upgrades.
  virtual std::optional<RawLeg> hand_over() { return std::nullopt; }
};

// What the record says of a connection to an origin.
struct UpstreamFacts {
  std::string address;
  std::string tls;
  std::string leaf;
  std::chrono::microseconds connect_time{0};
};

// The origin's end: verified, carrying this exchange now.
class OriginLeg : public Closable {
 public:
  ~OriginLeg() override = default;

  // `head` may hold values: the leg wipes every copy that it makes. Framing::Kind::none: no body follows.
  enum class Sent : std::uint8_t { whole, broken, unwritable };
  // `secret_fields`: the names of fields that hold one; ":path": the target does; ":body": the body may.
  virtual Task<Sent> send_head(RequestHead head, const Framing& framing,
                               std::vector<std::string> secret_fields) = 0;
  virtual Task<bool> send_body(std::string_view piece) = 0;
  virtual Task<Sent> send_end(const HeaderList& trailers) = 0;

  // The next head of the answer, 1xx or final: nullopt, and head() has it; or why there is none.
  virtual Task<std::optional<BodyStep>> read_head() = 0;
  virtual ResponseHead& head() = 0;
  virtual Framing framing() const = 0;
  // What is there without waiting; nullopt: nothing.
  virtual std::optional<BodyStep> try_read_body() = 0;
  virtual Task<BodyStep> read_body() = 0;
  virtual HeaderList& trailers() = 0;

  // Reads end with upstream_timeout at `deadline`, or after `limit` of silence.
  virtual void end_reads_at(SteadyTime deadline) = 0;
  virtual void limit_reads(SteadyDuration limit) = 0;

  // Has any byte of an answer come?
  virtual bool has_spoken() const = 0;
  // Was the connection kept from an exchange before, so that the origin may just have closed it?
  virtual bool is_reused() const = 0;
  // Has the origin said that it did nothing at all with this exchange, so that any request may be sent again?
  virtual bool was_refused() const { return false; }
  // Nothing of this exchange may end cleanly at the origin.
  virtual void abort() = 0;
  // Closable::close(): reads and writes that wait end as client_broken.
  // The exchange is over. `clean`: both directions stand at a border between messages.
  enum class Border : bool { unclean, clean };
  virtual void release(Border border) = 0;

  virtual const UpstreamFacts& facts() const = 0;

  // After a 101 was read: nothing else may be asked of this leg but to end. nullopt: its version has no upgrades.
  virtual std::optional<RawLeg> hand_over() { return std::nullopt; }
};

}  // namespace warder
