#include "http/h1_parser.hpp"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <utility>

#include "http/chunked.hpp"
#include "http/framing.hpp"
#include "http/head_reader.hpp"
#include "http/head_scanner.hpp"

namespace warder {

namespace {

// What comes next in the input.
enum class Phase : std::uint8_t {
  idle,  // no message was begun
  head,
  length,
  chunked,
  trailers,
  until_close,
  end,   // nothing: `end` is to be told
  done,  // `end` was told
  failed,
};

}  // namespace

struct H1Parser::State {
  State(Role the_role, const HeadLimits& the_limits) : role(the_role), limits(the_limits) {}

  void begin(std::string_view request_method);
  H1Event next(std::string_view& in);
  H1Event eof();

  H1Event next_head(std::string_view& in);
  H1Event next_length(std::string_view& in);
  H1Event next_chunk(std::string_view& in);
  H1Event next_trailers(std::string_view& in);
  H1Event next_until_close(std::string_view& in);
  H1Event end();
  H1Event fail(H1Error why);

  std::optional<std::string_view> gather(std::string_view& in);
  H1Error read_head(std::string_view text);
  Phase phase_of_body() const;

  Role role;
  HeadLimits limits;
  Phase phase = Phase::idle;
  H1Error error = H1Error::none;

  HeadScanner scanner{HeadScanner::Kind::request, limits};
  std::string gathered;  // a head or trailer block that came in pieces
  std::string method;    // of the request that a response answers
  RequestHead request;
  ResponseHead response;
  HeaderList trailers;
  Framing framing;
  bool keep_alive = false;

  std::uint64_t left = 0;  // of a body with a length
  ChunkedDecoder chunks;
  std::string_view body;
};

void H1Parser::State::begin(std::string_view request_method) {
  if (phase == Phase::failed) return;
  phase = Phase::head;
  scanner = HeadScanner(
      role == Role::request ? HeadScanner::Kind::request : HeadScanner::Kind::response, limits);
  gathered = {};
  method = request_method;
  request = {};
  response = {};
  trailers.clear();
  framing = {};
  keep_alive = false;
  body = {};
}

H1Event H1Parser::State::next(std::string_view& in) {
  switch (phase) {
    case Phase::head: return next_head(in);
    case Phase::length: return next_length(in);
    case Phase::chunked: return next_chunk(in);
    case Phase::trailers: return next_trailers(in);
    case Phase::until_close: return next_until_close(in);
    case Phase::end: return end();
    case Phase::failed: return H1Event::error;
    case Phase::idle:
    case Phase::done: break;
  }
  assert(false && "begin_request or begin_response comes first");
  return fail(H1Error::malformed);
}

// The whole head or trailer block once it is there: a part of `in` when it came in one piece.
// nullopt: more is needed, or `phase` is failed.
std::optional<std::string_view> H1Parser::State::gather(std::string_view& in) {
  const std::size_t before = gathered.size();
  if (before > 0) gathered.append(in);
  const std::string_view text = before > 0 ? std::string_view(gathered) : in;
  switch (scanner.scan(text)) {
    case HeadScanner::Progress::need_more:
      if (before == 0) gathered.assign(in);
      in.remove_prefix(in.size());
      return std::nullopt;
    case HeadScanner::Progress::refused: fail(scanner.error()); return std::nullopt;
    case HeadScanner::Progress::complete: break;
  }
  in.remove_prefix(scanner.end() - before);
  return text.substr(scanner.start(), scanner.end() - scanner.start());
}

H1Event H1Parser::State::next_head(std::string_view& in) {
  const auto text = gather(in);
  if (!text) return phase == Phase::failed ? H1Event::error : H1Event::need_more;
  if (const H1Error why = read_head(*text); why != H1Error::none) return fail(why);
  gathered = {};
  left = framing.length;
  chunks = {};
  phase = phase_of_body();
  return H1Event::head;
}

H1Error H1Parser::State::read_head(std::string_view text) {
  if (role == Role::request) {
    const H1Error why = read_request_head(text, limits, request);
    if (why != H1Error::none) return why;
    keep_alive = keeps_alive(request);
    return frame_request(request, framing);
  }
  const H1Error why = read_response_head(text, response);
  if (why != H1Error::none) return why;
  const H1Error misframed = frame_response(response, method, framing);
  keep_alive = keeps_alive(response, method, framing);
  return misframed;
}

Phase H1Parser::State::phase_of_body() const {
  switch (framing.kind) {
    case Framing::Kind::none: return Phase::end;
    case Framing::Kind::length: return Phase::length;
    case Framing::Kind::chunked: return Phase::chunked;
    case Framing::Kind::until_close: return Phase::until_close;
  }
  return Phase::failed;
}

H1Event H1Parser::State::next_length(std::string_view& in) {
  if (left == 0) return end();
  if (in.empty()) return H1Event::need_more;
  body = in.substr(0, std::min<std::uint64_t>(left, in.size()));
  in.remove_prefix(body.size());
  left -= body.size();
  return H1Event::body;
}

H1Event H1Parser::State::next_chunk(std::string_view& in) {
  switch (chunks.next(in)) {
    case ChunkedDecoder::Event::need_more: return H1Event::need_more;
    case ChunkedDecoder::Event::error: return fail(H1Error::bad_framing);
    case ChunkedDecoder::Event::data: body = chunks.data(); return H1Event::body;
    case ChunkedDecoder::Event::last: break;
  }
  scanner = HeadScanner(HeadScanner::Kind::trailers, limits);
  phase = Phase::trailers;
  return next_trailers(in);
}

H1Event H1Parser::State::next_trailers(std::string_view& in) {
  const auto text = gather(in);
  if (!text) return phase == Phase::failed ? H1Event::error : H1Event::need_more;
  const bool any = text->size() > 2;
  const H1Error why = any ? read_trailers(*text, trailers) : H1Error::none;
  if (why != H1Error::none) return fail(why);
  gathered = {};
  return end();
}

H1Event H1Parser::State::next_until_close(std::string_view& in) {
  if (in.empty()) return H1Event::need_more;
  body = in;
  in.remove_prefix(in.size());
  return H1Event::body;
}

H1Event H1Parser::State::end() {
  phase = Phase::done;
  return H1Event::end;
}

H1Event H1Parser::State::fail(H1Error why) {
  phase = Phase::failed;
  error = why;
  gathered = {};
  return H1Event::error;
}

H1Event H1Parser::State::eof() {
  switch (phase) {
    case Phase::idle:
    case Phase::done: return H1Event::need_more;
    case Phase::until_close:
    case Phase::end: return end();
    case Phase::length: return left == 0 ? end() : fail(H1Error::truncated);
    case Phase::head:
      return gathered.size() > scanner.start() ? fail(H1Error::truncated) : H1Event::need_more;
    case Phase::chunked:
    case Phase::trailers: return fail(H1Error::truncated);
    case Phase::failed: break;
  }
  return H1Event::error;
}

H1Parser::H1Parser(Role role, HeadLimits limits) : state_(std::make_unique<State>(role, limits)) {}
H1Parser::~H1Parser() = default;
H1Parser::H1Parser(H1Parser&&) noexcept = default;
H1Parser& H1Parser::operator=(H1Parser&&) noexcept = default;

void H1Parser::begin_request() { state_->begin({}); }
void H1Parser::begin_response(std::string_view method) { state_->begin(method); }
H1Event H1Parser::next(std::string_view& in) { return state_->next(in); }
H1Event H1Parser::eof() { return state_->eof(); }

RequestHead& H1Parser::request() { return state_->request; }
ResponseHead& H1Parser::response() { return state_->response; }
std::string_view H1Parser::body() const { return state_->body; }
HeaderList& H1Parser::trailers() { return state_->trailers; }
Framing H1Parser::framing() const { return state_->framing; }
bool H1Parser::keep_alive() const { return state_->keep_alive; }
H1Error H1Parser::error() const { return state_->error; }

bool H1Parser::started() const {
  if (state_->phase == Phase::idle) return false;
  return state_->phase != Phase::head || state_->gathered.size() > state_->scanner.start();
}

}  // namespace warder
