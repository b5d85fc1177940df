// One leg of a connection: a non-blocking socket, in clear text or under TLS through a BIO of our own, or under TLS
// that runs within TLS (a proxy that is spoken to over TLS).
// Reads and writes are tried first; a coroutine suspends only in wait(). At most one reader and one writer.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "proxy/io.hpp"
#include "proxy/worker.hpp"

namespace warder {

class Stream final : public Swept {
 public:
  Stream(Worker& worker, tcp::socket socket);
  ~Stream() override;
  Stream(const Stream&) = delete;  // the BIO points to it

  // > 0: bytes. Otherwise one of these. kEnded is final for its direction, and read_error() or write_error() says
  // why; a leg that cannot be written any more may still hold an answer to read.
  enum : int { kWantRead = -1, kWantWrite = -2, kEnded = -3 };
  int try_read(std::span<char> out);
  int try_write(std::string_view in);
  error_code read_error() const { return reads_.error; }
  error_code write_error() const { return writes_.error; }

  // The only suspension points: a read or a write that said `want` is worth another try. They end with timed_out
  // when the deadline of reads or writes passes, whatever TLS waits for underneath.
  Task<Result<>> wait_to_read(int want) { return wait(reads_, want); }
  Task<Result<>> wait_to_write(int want) { return wait(writes_, want); }
  Task<Result<std::size_t>> read_some(std::span<char> out);
  // `in` must stay valid until this is done.
  Task<Result<>> write_all(std::string_view in);

  // From now on, a wait for that direction ends with timed_out after `limit` without progress. A wait that is going
  // on begins anew.
  void limit_reads(SteadyDuration limit);
  void limit_writes(SteadyDuration limit);
  // Instead: reads end at `deadline`, however many bytes come until then. Drops of TLS are progress, not an answer.
  void end_reads_at(SteadyTime deadline);

  // TLS from here on, within the TLS that there is, if any; takes the SSL, whose state (accept or connect) is set. Then
  // handshake().
  void begin_tls(SSL* ssl);
  // Bytes that were read too far: the next read begins with them, also the first of a TLS that begins now.
  void put_back(std::string_view bytes);
  // Server side: ends with hello_pending between the client's first flight and our answer; once that is decided
  // (proxy/tls.hpp), called again.
  Task<Result<>> handshake();
  bool is_tls() const { return ssl_ != nullptr; }
  SSL* ssl() const { return ssl_.get(); }

  // Bytes that the next read will give again. Ends like read_some.
  Task<Result<std::size_t>> peek(std::span<char> out);

  // Takes raw bytes off the socket, below TLS: for lingering after shutdown_write(). 0: the end.
  Task<Result<std::size_t>> discard_some(std::span<char> scrap);
  // Ends the read that waits now, or the next one that would, with timed_out, without closing. A new limit of reads
  // forgets it.
  void interrupt_read();
  // Says goodbye: close_notify under TLS, then FIN. Never waits.
  void shutdown_write();
  // RST instead of FIN when closed: a body that broke off must not look complete.
  void abort();
  // Ends every wait and try for good. The socket goes with this object, or in abort(): who owns it knows whether
  // what was sent may look complete.
  void close() override;
  bool is_open() const { return !closed_ && socket_.is_open(); }
  // Nothing to read and no end in sight. Takes in TLS session tickets; a byte of data counts as noise and is lost.
  bool is_quiet();
  // Has the peer gone (an aborted or fully closed connection), as far as the kernel knows?
  bool peer_gone() const;
  // While set, a peer that goes away closes `other` too: nobody reads this leg while its answer is awaited.
  void close_with_me(Closable* other) { companion_ = other; }

  void on_sweep(SteadyTime now) override;
  tcp::socket& socket() { return socket_; }
  Worker& worker() { return worker_; }

 private:
  struct Direction {
    SteadyDuration limit = std::chrono::minutes(5);
    SteadyTime deadline = SteadyTime::max();
    SteadyTime since = SteadyTime::max();  // when the present wait began; max: nobody waits
    bool timed_out = false;
    error_code error;
  };
  struct SslFree {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  void set_limit(Direction& direction, SteadyDuration limit);
  Task<Result<>> wait(Direction& direction, int want);
  int tls_result(Direction& direction, int returned);
  int plain_result(Direction& direction, ssize_t returned, int want);
  int read_beneath(BIO* bio, char* out, int size);
  int write_beneath(BIO* bio, const char* in, int size);
  static int fail(Direction& direction, IoError why);
  static BIO_METHOD* bio_method();
  static int bio_read(BIO* bio, char* out, int size);
  static int bio_write(BIO* bio, const char* in, int size);
  static long bio_ctrl(BIO* bio, int command, long number, void* pointer);

  Worker& worker_;
  tcp::socket socket_;
  std::unique_ptr<SSL, SslFree>
      outer_;  // carries ssl_, when there are two; before it: ssl_ refers to its life
  std::unique_ptr<SSL, SslFree> ssl_;
  std::string ahead_;    // read too far: for the next read
  std::string beneath_;  // the same, of the layer that carries ssl_
  Direction reads_;
  Direction writes_;
  Closable* companion_ = nullptr;
  bool drained_ = false;  // the last recv took all there was: spares the recv that would say EAGAIN
  bool raw_eof_ = false;  // FIN seen below TLS
  bool closed_ = false;
  Worker::Place place_;  // last: a worker that is stopping closes this at once
};

}  // namespace warder
