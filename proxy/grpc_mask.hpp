// Masks a gRPC body message by message: what is compressed in a message is searched too, and a prefix says the length
// that its message then has. Knows no socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/coding_decoder.hpp"
#include "http/coding_encoder.hpp"
#include "http/grpc_frames.hpp"
#include "secrets/followed_mask.hpp"

namespace warder {

// What Masker::counts() of many maskers come to.
void add_counts(std::vector<Masker::Count>& all, const std::vector<Masker::Count>& more);

class GrpcMask {
 public:
  // A message that must be known whole is held up to this; a longer one is refused.
  static constexpr std::size_t kMaxHeld = std::size_t{4} * 1024 * 1024;
  // What a compressed message may unfold into, and what it may be when it is compressed again.
  static constexpr std::size_t kMaxPlain = std::size_t{64} * 1024 * 1024;
  static constexpr std::size_t kMaxRecoded = std::size_t{16} * 1024 * 1024;

  // The messages' compression as the field grpc-encoding names it. `unknown`: one that cannot be undone.
  enum class Compression : std::uint8_t { none, gzip, deflate, unknown };
  static Compression compression_of(const HeaderList& fields);
  // May a compressed message pass that cannot be undone?
  enum class Unreadable : std::uint8_t { refused, passes };

  GrpcMask(const FollowedMask& masks, Masker::Holding holding, Compression compression,
           Unreadable unreadable);
  ~GrpcMask();
  GrpcMask(const GrpcMask&) = delete;
  GrpcMask& operator=(const GrpcMask&) = delete;

  // `in` is borrowed until pump() returns false.
  void feed(std::string_view in) { in_ = in; }
  // Appends what may leave to `out`; takes some `budget` bytes of text off itself and then stops. False: all of what was fed
  // is used up, or it failed.
  bool pump(std::string& out, std::size_t budget);
  // The end of the body. False: failed.
  bool finish(std::string& out);
  // Why not all of it could be searched.
  const std::string& failure() const { return failure_; }
  const std::vector<Masker::Count>& counts() const { return counts_; }

 private:
  enum class Way : std::uint8_t { streamed, gathered, unfolded };
  enum class Work : std::uint8_t { reading, searching, recoding };

  bool fail(std::string why);
  bool begin_message(std::string& out);
  bool take_payload(std::string& out);
  bool end_message(std::string& out);
  void mask_gathered(std::string& out);
  void begin(Work work);
  bool search(std::size_t& budget, std::string& out);
  bool recode(std::size_t& budget, std::string& out);
  bool leave(std::string& out, std::string_view message);

  FollowedMask masks_;
  const Masker::Holding holding_;
  const Compression compression_;
  const Unreadable unreadable_;
  GrpcParser parser_;
  std::string_view in_;
  Way way_ = Way::streamed;
  Work work_ = Work::reading;
  std::optional<Masker> masker_;  // of the message
  std::optional<Decoder> decoder_;
  std::optional<Encoder> encoder_;
  WipedBytes message_;   // as it came
  std::string recoded_;  // and as it leaves
  std::size_t plain_ = 0;
  std::string scratch_;
  std::string failure_;
  std::vector<Masker::Count> counts_;
};

}  // namespace warder
