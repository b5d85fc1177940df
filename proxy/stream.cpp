#include "proxy/stream.hpp"

#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace warder {

Stream::Stream(Worker& worker, tcp::socket socket)
    : worker_(worker), socket_(std::move(socket)), place_(worker.enlist(*this)) {
  error_code ignored;
  socket_.native_non_blocking(true, ignored);
  socket_.set_option(tcp::no_delay(true), ignored);
}

Stream::~Stream() { worker_.delist(place_); }

int Stream::fail(Direction& direction, IoError why) {
  if (!direction.error) direction.error = why;
  return kEnded;
}

int Stream::plain_result(Direction& direction, ssize_t returned, int want) {
  if (returned > 0) return static_cast<int>(returned);
  if (returned == 0) return fail(direction, IoError::end_of_stream);
  if (errno == EAGAIN || errno == EWOULDBLOCK) return want;
  return fail(direction, IoError::reset);
}

int Stream::tls_result(Direction& direction, int returned) {
  if (returned > 0) return returned;
  switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ: return kWantRead;
    case SSL_ERROR_WANT_WRITE: return kWantWrite;
    case SSL_ERROR_ZERO_RETURN: return fail(direction, IoError::end_of_stream);
    case SSL_ERROR_SYSCALL: return fail(direction, raw_eof_ ? IoError::truncated : IoError::reset);
    default:
      if (raw_eof_ && ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        return fail(direction, IoError::truncated);
      }
      return fail(direction, IoError::tls);
  }
}

namespace {

// Moves what fits from the front of `from`.
int take(std::string& from, std::span<char> out) {
  const std::size_t n = std::min(from.size(), out.size());
  std::copy_n(from.data(), n, out.data());
  from.erase(0, n);
  if (from.empty()) from.shrink_to_fit();
  return static_cast<int>(n);
}

}  // namespace

int Stream::try_read(std::span<char> out) {
  if (reads_.error || closed_) return fail(reads_, IoError::closed);
  if (!ahead_.empty()) return take(ahead_, out);
  if (!ssl_) {
    const ssize_t n = ::recv(socket_.native_handle(), out.data(), out.size(), 0);
    return plain_result(reads_, n, kWantRead);
  }
  ERR_clear_error();
  return tls_result(reads_, SSL_read(ssl_.get(), out.data(), static_cast<int>(out.size())));
}

int Stream::try_write(std::string_view in) {
  if (writes_.error || closed_) return fail(writes_, IoError::closed);
  if (!ssl_) {
    const ssize_t n = ::send(socket_.native_handle(), in.data(), in.size(), MSG_NOSIGNAL);
    return plain_result(writes_, n, kWantWrite);
  }
  ERR_clear_error();
  return tls_result(writes_, SSL_write(ssl_.get(), in.data(), static_cast<int>(in.size())));
}

Task<Result<>> Stream::wait(Direction& direction, int want) {
  const bool for_read = want == kWantRead;
  const auto what = for_read ? tcp::socket::wait_read : tcp::socket::wait_write;
  direction.since = std::chrono::steady_clock::now();
  Result<> outcome;
  for (;;) {
    if (closed_) {
      outcome = IoError::closed;
      break;
    }
    // Also when the socket became ready in the same moment: an interrupt must not be lost.
    if (direction.timed_out) {
      direction.timed_out = false;
      outcome = IoError::timed_out;
      break;
    }
    auto [error] = co_await socket_.async_wait(what, as_result);
    if (for_read) drained_ = false;
    // What ended the other direction's wait cancels this one too: wait again.
    if (error == asio::error::operation_aborted || direction.timed_out) continue;
    if (error) outcome = IoError::reset;
    break;
  }
  direction.since = SteadyTime::max();
  co_return outcome;
}

Task<Result<std::size_t>> Stream::read_some(std::span<char> out) {
  for (;;) {
    const int n = try_read(out);
    if (n > 0) co_return static_cast<std::size_t>(n);
    if (n == kEnded) co_return reads_.error;
    auto ready = co_await wait_to_read(n);
    if (!ready) co_return ready.error();
  }
}

Task<Result<>> Stream::write_all(std::string_view in) {
  while (!in.empty()) {
    const int n = try_write(in);
    if (n > 0) {
      in.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (n == kEnded) co_return writes_.error;
    auto ready = co_await wait_to_write(n);
    if (!ready) co_return ready.error();
  }
  co_return Result<>();
}

Task<Result<std::size_t>> Stream::peek(std::span<char> out) {
  auto read = co_await read_some(out);
  if (read) put_back({out.data(), *read});
  co_return read;
}

void Stream::put_back(std::string_view bytes) { ahead_.insert(0, bytes); }

Task<Result<std::size_t>> Stream::discard_some(std::span<char> scrap) {
  for (;;) {
    if (closed_) co_return IoError::closed;
    const ssize_t n = ::recv(socket_.native_handle(), scrap.data(), scrap.size(), 0);
    if (n >= 0) co_return static_cast<std::size_t>(n);
    if (errno != EAGAIN) co_return IoError::reset;
    auto ready = co_await wait_to_read(kWantRead);
    if (!ready) co_return ready.error();
  }
}

void Stream::set_limit(Direction& direction, SteadyDuration limit) {
  direction.limit = limit;
  direction.deadline = SteadyTime::max();
  if (direction.since == SteadyTime::max()) direction.timed_out = false;
  if (direction.since != SteadyTime::max()) direction.since = std::chrono::steady_clock::now();
}

void Stream::limit_reads(SteadyDuration limit) { set_limit(reads_, limit); }
void Stream::limit_writes(SteadyDuration limit) { set_limit(writes_, limit); }

void Stream::end_reads_at(SteadyTime deadline) {
  set_limit(reads_, SteadyDuration::max());
  reads_.deadline = deadline;
}

void Stream::begin_tls(SSL* ssl) {
  BIO* bio = BIO_new(bio_method());
  if (ssl == nullptr || bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, this);
  SSL_set_bio(ssl, bio, bio);  // takes both references
  outer_ = std::move(ssl_);
  ssl_.reset(ssl);
  beneath_ = std::exchange(ahead_, {});
}

Task<Result<>> Stream::handshake() {
  for (;;) {
    ERR_clear_error();
    if (closed_) co_return IoError::closed;
    const int returned = SSL_do_handshake(ssl_.get());
    if (returned > 0) co_return Result<>();
    if (SSL_get_error(ssl_.get(), returned) == SSL_ERROR_WANT_CLIENT_HELLO_CB) {
      co_return IoError::hello_pending;
    }
    const int want = tls_result(reads_, returned);
    if (want == kEnded) co_return reads_.error;
    auto ready = co_await wait_to_read(want);
    if (!ready) co_return ready.error();
  }
}

void Stream::interrupt_read() {
  reads_.timed_out = true;
  error_code ignored;
  socket_.cancel(ignored);
}

void Stream::shutdown_write() {
  if (!is_open()) return;
  const bool healthy = reads_.error != IoError::tls && writes_.error != IoError::tls;
  for (SSL* ssl : {ssl_.get(), outer_.get()}) {
    if (ssl == nullptr || !SSL_is_init_finished(ssl) || (!healthy && ssl == ssl_.get())) continue;
    ERR_clear_error();
    SSL_shutdown(ssl);
  }
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

void Stream::abort() {
  closed_ = true;
  error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
}

void Stream::close() {
  closed_ = true;
  error_code ignored;
  socket_.cancel(ignored);
}

bool Stream::is_quiet() {
  drained_ = false;
  char byte = 0;
  return try_read({&byte, 1}) == kWantRead;
}

bool Stream::peer_gone() const {
  pollfd waiting{const_cast<tcp::socket&>(socket_).native_handle(), POLLRDHUP, 0};
  if (::poll(&waiting, 1, 0) <= 0) return false;
  // TLS has no half-close (RFC 8446 section 6.1 allows it, no HTTP client uses it); clear text has.
  const int gone = POLLERR | POLLHUP | POLLNVAL | (ssl_ ? POLLRDHUP : 0);
  return (waiting.revents & gone) != 0;
}

void Stream::on_sweep(SteadyTime now) {
  if (closed_) return;
  bool cancel = false;
  for (Direction* direction : {&reads_, &writes_}) {
    if (direction->since == SteadyTime::max()) continue;
    if (now < direction->deadline && now - direction->since < direction->limit) continue;
    direction->timed_out = true;
    cancel = true;
  }
  error_code ignored;
  if (cancel) socket_.cancel(ignored);
  if (companion_ != nullptr && peer_gone()) companion_->close();
}

namespace {

// Tells the inner layer why the outer one could not go on: 0 for its end, -1 with a retry flag or without.
int outcome_beneath(BIO* bio, SSL* outer, int returned) {
  switch (SSL_get_error(outer, returned)) {
    case SSL_ERROR_WANT_READ: BIO_set_retry_read(bio); return -1;
    case SSL_ERROR_WANT_WRITE: BIO_set_retry_write(bio); return -1;
    case SSL_ERROR_ZERO_RETURN: return 0;
    default: return -1;
  }
}

}  // namespace

int Stream::read_beneath(BIO* bio, char* out, int size) {
  const int n = SSL_read(outer_.get(), out, size);
  if (n > 0) return n;
  const int outcome = outcome_beneath(bio, outer_.get(), n);
  if (outcome == 0) raw_eof_ = true;
  return outcome;
}

int Stream::write_beneath(BIO* bio, const char* in, int size) {
  const int n = SSL_write(outer_.get(), in, size);
  if (n > 0) return n;
  (void)outcome_beneath(bio, outer_.get(), n);
  return -1;
}

int Stream::bio_read(BIO* bio, char* out, int size) {
  auto& self = *static_cast<Stream*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const bool is_outer = self.outer_ && bio == SSL_get_rbio(self.outer_.get());
  if (!is_outer && !self.beneath_.empty())
    return take(self.beneath_, {out, static_cast<std::size_t>(size)});
  if (!is_outer && self.outer_) return self.read_beneath(bio, out, size);
  if (self.drained_) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const ssize_t n = ::recv(self.socket_.native_handle(), out, static_cast<std::size_t>(size), 0);
  if (n == 0) self.raw_eof_ = true;
  if (n < 0 && errno == EAGAIN) {
    BIO_set_retry_read(bio);
    self.drained_ = true;
  }
  // A short read emptied the socket; a FIN that is already there still makes the wait return at once.
  if (n > 0 && n < size) self.drained_ = true;
  return static_cast<int>(n);
}

int Stream::bio_write(BIO* bio, const char* in, int size) {
  auto& self = *static_cast<Stream*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (self.outer_ && bio != SSL_get_wbio(self.outer_.get()))
    return self.write_beneath(bio, in, size);
  const int fd = self.socket_.native_handle();
  const ssize_t n = ::send(fd, in, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (n < 0 && errno == EAGAIN) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

long Stream::bio_ctrl(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return static_cast<Stream*>(BIO_get_data(bio))->raw_eof_ ? 1 : 0;
  return 0;
}

BIO_METHOD* Stream::bio_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "warder stream");
    BIO_meth_set_create(made, [](BIO* bio) {
      BIO_set_init(bio, 1);
      return 1;
    });
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_ctrl(made, bio_ctrl);
    return made;
  }();
  return method;
}

}  // namespace warder
