// The callbacks that nghttp2 calls: each only translates into a call of State. Nothing throws
// through C: what would (no memory) ends the program.
#include <limits>
#include <stdexcept>

#include "http/h2_state.hpp"

namespace warder {
namespace {

std::string_view view(const std::uint8_t* at, std::size_t n) {
  return {reinterpret_cast<const char*>(at), n};
}

// A field that HTTP does not allow: nghttp2 would leave it out, we refuse the message.
int on_invalid_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t*, std::size_t,
                      const std::uint8_t*, std::size_t, std::uint8_t, void*) noexcept {
  return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

void check(int result) {
  if (result != 0) throw std::runtime_error(std::string("nghttp2: ") + nghttp2_strerror(result));
}

struct Callbacks {
  Callbacks() { check(nghttp2_session_callbacks_new(&raw)); }
  ~Callbacks() { nghttp2_session_callbacks_del(raw); }
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;
  nghttp2_session_callbacks* raw = nullptr;
};

struct Options {
  explicit Options(const H2Limits& limits) {
    check(nghttp2_option_new(&raw));
    nghttp2_option_set_no_auto_window_update(raw, 1);
    nghttp2_option_set_max_send_header_block_length(raw, 2 * limits.head.bytes + 64 * 1024);
    // H2FrameMeter and State bound these three. nghttp2's own bounds are lower than ours, and its
    // count of continuations depends on how the bytes come.
    nghttp2_option_set_max_continuations(raw, std::numeric_limits<std::size_t>::max());
    nghttp2_option_set_max_outbound_ack(raw, std::numeric_limits<std::size_t>::max());
    constexpr auto kNoLimit = std::numeric_limits<std::uint64_t>::max();
    nghttp2_option_set_stream_reset_rate_limit(raw, kNoLimit, kNoLimit);
  }
  ~Options() { nghttp2_option_del(raw); }
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  nghttp2_option* raw = nullptr;
};

}  // namespace

void H2Session::State::hear_frames(nghttp2_session_callbacks* callbacks) {
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) noexcept {
        static_cast<State*>(self)->on_begin_head(*frame);
        return 0;
      });
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t flags, void* self) noexcept {
        const bool never = (flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0;
        static_cast<State*>(self)->head.add(
            view(name, name_size), view(value, value_size),
            never ? H2HeadReader::Index::never : H2HeadReader::Index::allowed);
        return 0;
      });
  nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session*, std::uint8_t, StreamId id, const std::uint8_t* at,
                    std::size_t n, void* self) noexcept {
        static_cast<State*>(self)->on_data(id, view(at, n));
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) noexcept {
        static_cast<State*>(self)->on_frame(*frame);
        return 0;
      });
}

void H2Session::State::hear_outcomes(nghttp2_session_callbacks* callbacks) {
  nghttp2_session_callbacks_set_on_frame_send_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) noexcept {
        static_cast<State*>(self)->on_sent(*frame);
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_not_send_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, int, void* self) noexcept {
        static_cast<State*>(self)->on_not_sent(*frame);
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, StreamId id, std::uint32_t code, void* self) noexcept {
        static_cast<State*>(self)->on_close(id, code);
        return 0;
      });
}

nghttp2_session* H2Session::State::open_session() {
  const Callbacks callbacks;
  hear_frames(callbacks.raw);
  hear_outcomes(callbacks.raw);
  const Options options(limits);
  nghttp2_session* opened = nullptr;
  check(role == Role::server
            ? nghttp2_session_server_new2(&opened, callbacks.raw, this, options.raw)
            : nghttp2_session_client_new2(&opened, callbacks.raw, this, options.raw));
  return opened;
}

nghttp2_data_provider H2Session::State::body_source() {
  nghttp2_data_provider source{};
  source.read_callback = [](nghttp2_session*, StreamId id, std::uint8_t* at, std::size_t n,
                            std::uint32_t* flags, nghttp2_data_source*, void* self) noexcept {
    return static_cast<State*>(self)->on_body_wanted(id, {at, n}, *flags);
  };
  return source;
}

}  // namespace warder
