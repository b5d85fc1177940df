#include "http/coding_encoder.hpp"

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <new>
#include <stdexcept>

namespace warder {

class Encoder::Stage {
 public:
  virtual ~Stage() = default;
  virtual void run(std::string_view in, Op op, std::string& out) = 0;
};

namespace {

using Op = Encoder::Op;
using Room = std::array<char, std::size_t{16} * 1024>;

[[noreturn]] void fail(const char* library) {
  throw std::runtime_error(std::string(library) + " cannot encode");
}

class DeflateStage final : public Encoder::Stage {
 public:
  // zlib: 15 asks for its own frame, 15 + 16 for gzip's.
  explicit DeflateStage(int window) {
    constexpr int kLevel = 1;
    constexpr int kMemory = 8;
    if (deflateInit2(&stream_, kLevel, Z_DEFLATED, window, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~DeflateStage() override { deflateEnd(&stream_); }
  DeflateStage(const DeflateStage&) = delete;
  DeflateStage& operator=(const DeflateStage&) = delete;

  void run(std::string_view in, Op op, std::string& out) override {
    const int flush = op == Op::write ? Z_NO_FLUSH : op == Op::flush ? Z_SYNC_FLUSH : Z_FINISH;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    Room room;
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(room.data());
      stream_.avail_out = room.size();
      if (deflate(&stream_, flush) == Z_STREAM_ERROR) fail("zlib");
      out.append(room.data(), room.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

 private:
  z_stream stream_{};
};

class BrotliStage final : public Encoder::Stage {
 public:
  BrotliStage() : state_(BrotliEncoderCreateInstance(nullptr, nullptr, nullptr)) {
    if (state_ == nullptr) throw std::bad_alloc();
    constexpr std::uint32_t kQuality = 1;
    constexpr std::uint32_t kWindowLog = 18;  // 256 KiB: more is of no use to the quickest levels
    BrotliEncoderSetParameter(state_, BROTLI_PARAM_QUALITY, kQuality);
    BrotliEncoderSetParameter(state_, BROTLI_PARAM_LGWIN, kWindowLog);
  }
  ~BrotliStage() override { BrotliEncoderDestroyInstance(state_); }
  BrotliStage(const BrotliStage&) = delete;
  BrotliStage& operator=(const BrotliStage&) = delete;

  void run(std::string_view in, Op op, std::string& out) override {
    const auto operation = op == Op::write   ? BROTLI_OPERATION_PROCESS
                           : op == Op::flush ? BROTLI_OPERATION_FLUSH
                                             : BROTLI_OPERATION_FINISH;
    std::size_t left = in.size();
    const auto* from = reinterpret_cast<const std::uint8_t*>(in.data());
    do {
      std::size_t none = 0;
      if (BrotliEncoderCompressStream(state_, operation, &left, &from, &none, nullptr, nullptr) ==
          BROTLI_FALSE) {
        fail("brotli");
      }
      std::size_t size = 0;  // all there is
      const std::uint8_t* made = BrotliEncoderTakeOutput(state_, &size);
      out.append(reinterpret_cast<const char*>(made), size);
    } while (left > 0 || BrotliEncoderHasMoreOutput(state_) == BROTLI_TRUE);
  }

 private:
  BrotliEncoderState* state_;
};

class ZstdStage final : public Encoder::Stage {
 public:
  ZstdStage() : stream_(ZSTD_createCCtx()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(stream_, ZSTD_c_compressionLevel, 1);
  }
  ~ZstdStage() override { ZSTD_freeCCtx(stream_); }
  ZstdStage(const ZstdStage&) = delete;
  ZstdStage& operator=(const ZstdStage&) = delete;

  void run(std::string_view in, Op op, std::string& out) override {
    const auto directive = op == Op::write   ? ZSTD_e_continue
                           : op == Op::flush ? ZSTD_e_flush
                                             : ZSTD_e_end;
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    Room room;
    for (;;) {
      ZSTD_outBuffer to{room.data(), room.size(), 0};
      const std::size_t left = ZSTD_compressStream2(stream_, &to, &from, directive);
      if (ZSTD_isError(left) != 0) fail("zstd");
      out.append(room.data(), to.pos);
      const bool done = op == Op::write ? from.pos == from.size : left == 0;
      if (done) return;
    }
  }

 private:
  ZSTD_CCtx* stream_;
};

std::unique_ptr<Encoder::Stage> stage_for(Coding coding) {
  switch (coding) {
    case Coding::gzip: return std::make_unique<DeflateStage>(15 + 16);
    case Coding::deflate: return std::make_unique<DeflateStage>(15);
    case Coding::br: return std::make_unique<BrotliStage>();
    case Coding::zstd: return std::make_unique<ZstdStage>();
  }
  return nullptr;
}

}  // namespace

Encoder::Encoder(const std::vector<Coding>& codings) {
  for (const Coding coding : codings) stages_.push_back(stage_for(coding));
}

Encoder::~Encoder() = default;

void Encoder::run(std::size_t index, std::string_view in, Op op, std::string& out) {
  if (index + 1 == stages_.size()) return stages_[index]->run(in, op, out);
  std::string made;
  stages_[index]->run(in, op, made);
  run(index + 1, made, op, out);
}

}  // namespace warder
