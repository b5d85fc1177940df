// Invariant: whatever a peer sends, in either role, a session never crashes, holds no more than its
// header file says, and means the same by the same bytes whether they come whole or in pieces.
#include <cstdlib>
#include <map>
#include <string>

#include "tests/http/h2_talk.hpp"

namespace {

using namespace warder;
using namespace warder::test::h2;
using Role = H2Session::Role;
using Last = H2Session::Last;

struct StillClock final : Clock {
  std::chrono::system_clock::time_point now() const override { return {}; }
  std::chrono::nanoseconds monotonic() const override { return std::chrono::hours(1); }
};

H2Limits small_limits() {
  H2Limits limits;
  limits.head = {.bytes = 2000, .fields = 30, .target = 300, .trailer_bytes = 500};
  limits.streams = 8;
  limits.window = 1000;
  limits.connection_window = 100'000;
  return limits;
}

void require(bool holds) {
  if (!holds) std::abort();
}

void ask(H2Session& session) {
  const RequestHead head{"POST", "/", 1, {}};
  for (int i = 0; i < 3; ++i) (void)session.send_request(head, "https", "api.test", Last::no, {});
}

// What a session was told and said, but for what may depend on how the bytes came: how much of
// a body that never ended was given out before its fault was seen, and so when its window was
// returned.
struct Account {
  std::string events;
  std::map<StreamId, std::string> bodies;
  std::string said;
  bool alive = true;
  bool operator==(const Account&) const = default;

  void drain(H2Session& session) {
    Transcript transcript;
    while (auto event = session.next()) {
      if (const auto* data = std::get_if<H2Data>(&*event)) {
        so_far_[data->stream] += data->bytes;
        continue;
      }
      if (const auto* end = std::get_if<H2End>(&*event)) {
        bodies[end->stream] = so_far_[end->stream];
      }
      transcript.note(*event);
    }
    events += transcript.text();
  }
  void hear(std::string_view output) {
    for (const Frame& one : frames_in(output)) {
      if (one.type != window) said += frame(one.type, one.flags, one.stream, one.payload);
    }
  }

 private:
  struct SoFar : std::map<StreamId, std::string> {
    bool operator==(const SoFar&) const { return true; }
  };
  SoFar so_far_{};
};

Account account_in_pieces(Role role, std::string_view bytes, std::size_t piece,
                          const Clock& clock) {
  H2Session session(role, small_limits(), &clock);
  if (role == Role::client) ask(session);
  take_output(session);
  Account account;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    account.alive = session.feed(bytes.substr(0, piece));
  }
  account.drain(session);
  account.hear(take_output(session));
  account.drain(session);
  require(account.alive || session.finished());
  return account;
}

// What an owner might do next; the choice is the input's.
class Owner {
 public:
  Owner(Role role, const Clock& clock) : session_(role, small_limits(), &clock) {
    if (role == Role::client) ask(session_);
  }

  void step(std::uint8_t choice, std::string_view bytes) {
    const bool alive = session_.feed(bytes);
    take();
    const StreamId id = 1 + 2 * (choice >> 5);
    switch (choice & 15) {
      case 0: consume(id, choice); break;
      case 1: (void)session_.send_response(id, {200, "", 1, {}}, Last::no); break;
      case 2: (void)session_.send_response(id, {204, "", 1, {}}, Last::yes); break;
      case 3: (void)session_.send_response(id, {100, "", 1, {}}, Last::no); break;
      case 4: require(session_.send_body(id, body_) <= 64 * 1024); break;
      case 5: (void)session_.send_end(id, {}); break;
      case 6:
        session_.reset(id, H2Code::cancel);
        held_.erase(id);
        break;
      case 7: ask(session_); break;
      case 8: write(choice); break;
      case 9: session_.shut_down(); break;
      case 10: take_output(session_); break;
      case 11: {
        HeaderList trailers;
        trailers.add("a", "b");
        (void)session_.send_end(id, trailers);
        break;
      }
      default: break;
    }
    take();
    if (!alive) {
      take_output(session_);
      require(session_.finished());
    }
  }

 private:
  void consume(StreamId id, std::size_t n) {
    session_.consume(id, n);
    held_[id] -= std::min(n, held_[id]);
  }
  void write(std::size_t n) {
    const std::string_view out = session_.output();
    require(out.size() < 100'000);
    session_.wrote(std::min(n, out.size()));
  }
  void take() {
    while (auto event = session_.next()) {
      if (const auto* data = std::get_if<H2Data>(&*event)) {
        require(!data->bytes.empty() && data->bytes.size() <= 16 * 1024);
        held_[data->stream] += data->bytes.size();
      }
      if (const auto* reset = std::get_if<H2Reset>(&*event)) held_.erase(reset->stream);
      if (const auto* request = std::get_if<H2RequestHead>(&*event)) {
        require(request->head.fields.begin()->name == "host");
        require(request->head.fields.size() <= 31);
      }
    }
    std::size_t sum = 0;
    for (const auto& [id, n] : held_) sum += n;
    require(sum <= small_limits().connection_window);
  }

  H2Session session_;
  std::map<StreamId, std::size_t> held_{};  // body bytes that were not consumed
  std::string body_ = std::string(70'000, 'x');
};

void owned(Role role, std::string_view bytes, const Clock& clock) {
  Owner owner(role, clock);
  while (!bytes.empty()) {
    const auto choice = static_cast<std::uint8_t>(bytes.back());
    bytes.remove_suffix(1);
    const std::size_t n = std::min<std::size_t>(1 + choice, bytes.size());
    owner.step(choice, bytes.substr(0, n));
    bytes.remove_prefix(n);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* at, std::size_t size) {
  const StillClock clock;
  if (size == 0) return 0;
  const std::string input(reinterpret_cast<const char*>(at + 1), size - 1);
  const Role role = (*at & 1) != 0 ? Role::server : Role::client;
  // Half of the inputs need not find the preface by themselves.
  const std::string bytes =
      (*at & 2) != 0 ? input
                     : (role == Role::server ? client_hello() : frame(settings, 0, 0)) + input;
  const Account whole = account_in_pieces(role, bytes, bytes.size() + 1, clock);
  require(account_in_pieces(role, bytes, 1, clock) == whole);
  require(account_in_pieces(role, bytes, 2 + *at / 4, clock) == whole);
  owned(role, bytes, clock);
  return 0;
}
