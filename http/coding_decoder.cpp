#include "http/coding_decoder.hpp"

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <new>
#include <string>

namespace warder {

class Decoder::Stage {
 public:
  virtual ~Stage() = default;
  // Takes from `in` and fills `out`, until either is over. False: malformed.
  virtual bool run(std::string_view& in, char* out, std::size_t room, std::size_t& made) = 0;
  // May the input end here?
  virtual bool is_complete() const = 0;
  virtual bool dropped() const { return false; }
};

namespace {

constexpr int kZlibWindow = 15;
constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for the gzip frame
constexpr int kRawWindow = -15;
constexpr int kZstdWindowLog = 23;  // 8 MiB

class Inflater {
 public:
  explicit Inflater(int window) {
    if (inflateInit2(&stream_, window) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void begin_anew(int window) { inflateReset2(&stream_, window); }

  enum class Result : std::uint8_t { more, end, malformed };
  Result run(std::string_view& in, char*& out, std::size_t& room) {
    // zlib's type, from before const: it only reads.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    in.remove_prefix(in.size() - stream_.avail_in);
    out += room - stream_.avail_out;
    room = stream_.avail_out;
    if (result == Z_STREAM_END) return Result::end;
    // Z_BUF_ERROR: there was nothing to do, which is no error.
    return result == Z_OK || result == Z_BUF_ERROR ? Result::more : Result::malformed;
  }

 private:
  z_stream stream_{};
};

class GzipStage final : public Decoder::Stage {
 public:
  bool run(std::string_view& in, char* out, std::size_t room, std::size_t& made) override {
    const std::size_t all = room;
    while (place_ != Place::in_member || room > 0) {
      if (place_ == Place::start) {
        if (in.empty()) break;
        place_ = Place::in_member;
      } else if (place_ == Place::in_member) {
        const auto result = inflater_.run(in, out, room);
        if (result == Inflater::Result::malformed) return false;
        if (result == Inflater::Result::more) break;
        place_ = Place::behind_member;
      } else if (!look_behind(in)) {
        break;
      }
    }
    made = all - room;
    return true;
  }
  bool is_complete() const override { return place_ != Place::in_member; }
  bool dropped() const override {
    return place_ == Place::behind_all || place_ == Place::behind_1f;
  }

 private:
  static constexpr std::string_view kMagic = "\x1f\x8b";
  enum class Place : std::uint8_t { start, in_member, behind_member, behind_1f, behind_all };

  // The next byte behind a member. False: none is there.
  bool look_behind(std::string_view& in) {
    if (place_ == Place::behind_all) in = {};
    if (in.empty()) return false;
    const bool seen_one = place_ == Place::behind_1f;
    const bool fits = in.front() == kMagic[seen_one ? 1 : 0];
    if (!fits) {
      place_ = Place::behind_all;
      return true;
    }
    in.remove_prefix(1);
    place_ = seen_one ? Place::in_member : Place::behind_1f;
    if (seen_one) {
      inflater_.begin_anew(kGzipWindow);
      std::string_view magic = kMagic;
      char none = 0;
      char* nowhere = &none;
      std::size_t no_room = 0;
      (void)inflater_.run(magic, nowhere, no_room);
    }
    return true;
  }

  Inflater inflater_{kGzipWindow};
  Place place_ = Place::start;
};

// The first two bytes tell whether the zlib frame is there: in the bare format no encoder writes them.
class DeflateStage final : public Decoder::Stage {
 public:
  bool run(std::string_view& in, char* out, std::size_t room, std::size_t& made) override {
    const std::size_t all = room;
    while (known_ < first_.size() && !in.empty()) {
      first_.at(known_++) = in.front();
      in.remove_prefix(1);
      if (known_ == first_.size()) {
        inflater_.begin_anew(is_framed() ? kZlibWindow : kRawWindow);
        first_left_ = {first_.data(), first_.size()};
      }
    }
    if (known_ < first_.size()) return true;
    if (!ended_ && !first_left_.empty() && !step(first_left_, out, room)) return false;
    if (!ended_ && first_left_.empty() && !step(in, out, room)) return false;
    made = all - room;
    if (ended_ && (!in.empty() || !first_left_.empty())) {
      dropped_ = true;
      in = {};
    }
    return true;
  }
  bool is_complete() const override { return ended_ || known_ == 0; }
  bool dropped() const override { return dropped_; }

 private:
  bool is_framed() const {
    const unsigned method = static_cast<unsigned char>(first_[0]);
    const unsigned flags = static_cast<unsigned char>(first_[1]);
    return (method & 0xfU) == Z_DEFLATED && method >> 4U <= 7 && (method << 8U | flags) % 31 == 0;
  }
  bool step(std::string_view& in, char*& out, std::size_t& room) {
    const auto result = inflater_.run(in, out, room);
    ended_ = result == Inflater::Result::end;
    return result != Inflater::Result::malformed;
  }

  Inflater inflater_{kZlibWindow};
  std::array<char, 2> first_{};
  std::size_t known_ = 0;        // of first_
  std::string_view first_left_;  // not given to zlib yet
  bool ended_ = false;
  bool dropped_ = false;
};

class BrotliStage final : public Decoder::Stage {
 public:
  BrotliStage() : state_(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)) {
    if (state_ == nullptr) throw std::bad_alloc();
  }
  ~BrotliStage() override { BrotliDecoderDestroyInstance(state_); }
  BrotliStage(const BrotliStage&) = delete;
  BrotliStage& operator=(const BrotliStage&) = delete;

  bool run(std::string_view& in, char* out, std::size_t room, std::size_t& made) override {
    started_ = started_ || !in.empty();
    if (!ended_ && started_) {
      std::size_t left = in.size();
      const auto* from = reinterpret_cast<const std::uint8_t*>(in.data());
      auto* to = reinterpret_cast<std::uint8_t*>(out);
      std::size_t free = room;
      const auto result = BrotliDecoderDecompressStream(state_, &left, &from, &free, &to, nullptr);
      if (result == BROTLI_DECODER_RESULT_ERROR) return false;
      in.remove_prefix(in.size() - left);
      made = room - free;
      ended_ = result == BROTLI_DECODER_RESULT_SUCCESS;
    }
    if (ended_ && !in.empty()) {
      dropped_ = true;
      in = {};
    }
    return true;
  }
  bool is_complete() const override { return ended_ || !started_; }
  bool dropped() const override { return dropped_; }

 private:
  BrotliDecoderState* state_;
  bool started_ = false;
  bool ended_ = false;
  bool dropped_ = false;
};

class ZstdStage final : public Decoder::Stage {
 public:
  ZstdStage() : stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kZstdWindowLog);
  }
  ~ZstdStage() override { ZSTD_freeDStream(stream_); }
  ZstdStage(const ZstdStage&) = delete;
  ZstdStage& operator=(const ZstdStage&) = delete;

  bool run(std::string_view& in, char* out, std::size_t room, std::size_t& made) override {
    ZSTD_outBuffer to{out, room, 0};
    // What the frame has ready comes without input; asked for again and again without either, the
    // library takes it for an error.
    while (to.pos < room && (!in.empty() || pending_)) {
      if (at_border_ && !begins_frame(in.front())) return false;
      ZSTD_inBuffer from{in.data(), in.size(), 0};
      const std::size_t before = to.pos;
      const std::size_t result = ZSTD_decompressStream(stream_, &to, &from);
      if (ZSTD_isError(result) != 0) return false;
      in.remove_prefix(from.pos);
      at_border_ = result == 0;
      pending_ = !at_border_ && to.pos == room;
      if (from.pos == 0 && to.pos == before) break;
    }
    made = to.pos;
    return true;
  }
  bool is_complete() const override { return at_border_; }

 private:
  // RFC 8878, or a skippable frame; what the library still reads of older formats is not HTTP's zstd.
  static bool begins_frame(char first) {
    const auto byte = static_cast<unsigned char>(first);
    return byte == 0x28 || byte >> 4U == 0x5;
  }

  ZSTD_DStream* stream_;
  bool at_border_ = true;  // between frames
  bool pending_ = false;   // more may come out without more going in
};

std::unique_ptr<Decoder::Stage> stage_for(Coding coding) {
  switch (coding) {
    case Coding::gzip: return std::make_unique<GzipStage>();
    case Coding::deflate: return std::make_unique<DeflateStage>();
    case Coding::br: return std::make_unique<BrotliStage>();
    case Coding::zstd: return std::make_unique<ZstdStage>();
  }
  return nullptr;
}

}  // namespace

struct Decoder::Link {
  std::unique_ptr<Stage> stage;
  std::string_view in;  // not taken yet
  bool filled = false;  // its last run filled the room: more may come without input
  std::string out;      // kPiece
};

Decoder::Decoder(const std::vector<Coding>& applied) {
  for (auto coding = applied.rbegin(); coding != applied.rend(); ++coding) {
    links_.push_back({stage_for(*coding), {}, false, std::string(kPiece, '\0')});
  }
}

Decoder::~Decoder() = default;

void Decoder::feed(std::string_view in) { links_.front().in = in; }

Decoder::Event Decoder::next() { return pull(links_.size() - 1, piece_); }

Decoder::Event Decoder::pull(std::size_t index, std::string_view& made) {
  Link& link = links_[index];
  for (;;) {
    if (!link.in.empty() || link.filled) {
      std::size_t size = 0;
      const std::size_t before = link.in.size();
      if (!link.stage->run(link.in, link.out.data(), link.out.size(), size))
        return Event::malformed;
      link.filled = size == link.out.size();
      if (size > 0) {
        made = std::string_view(link.out).substr(0, size);
        return Event::piece;
      }
      if (link.in.empty()) continue;
      if (link.in.size() == before) return Event::malformed;  // a library that stands still
      continue;
    }
    Event event = Event::need_more;
    if (index > 0)
      event = pull(index - 1, link.in);
    else if (finished_)
      event = Event::end;
    if (event == Event::piece) continue;
    if (event == Event::end && !link.stage->is_complete()) return Event::truncated;
    return event;
  }
}

bool Decoder::dropped() const {
  for (const Link& link : links_) {
    if (link.stage->dropped()) return true;
  }
  return false;
}

}  // namespace warder
