// The writer thread behind Log: drains the queue, chains, writes, syncs, signs, answers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "audit/file.hpp"
#include "audit/format.hpp"
#include "audit/log.hpp"

namespace warder::audit {

inline constexpr std::size_t kMaxQueued = 16384;        // records that wait for the writer
inline constexpr std::size_t kMaxBatchBytes = 1 << 20;  // one write
inline constexpr std::uint64_t kAllocationStep = 1 << 20;
// Always kept free behind all reservations: a checkpoint, the close record and its checkpoint.
inline constexpr std::uint64_t kClosingBytes = 4096;
inline constexpr std::chrono::milliseconds kHealInterval{100};

struct WriterStart {
  std::filesystem::path path;
  Chain chain;  // where the file stands
  std::string origin;
  std::uint64_t size = 0;           // of the file
  std::vector<std::string> bodies;  // the records to begin with: header, or resume and repair
};

class Writer final : public Log {
 public:
  // Writes and syncs the first records; throws std::runtime_error when that fails.
  Writer(std::unique_ptr<File> file, SigningKey key, WriterStart start, const Clock& clock);
  ~Writer() override;

  void append(Record record, Durability durability, unsigned reserve, Done done) override;
  bool append_receipt(Receipt receipt) override;
  bool healthy() const override { return health_.load() == Health::ok; }
  bool close() override;
  std::filesystem::path file() const override { return path_; }

 private:
  enum class Health : std::uint8_t {
    ok,
    no_space,  // no room for new exchanges; receipts have theirs
    stalled,   // a write found no room although it was reserved; nothing is taken
    failed,    // for the rest of this object's life
  };
  enum class Kind : std::uint8_t { record, receipt, refused };
  struct Item {
    Kind kind = Kind::refused;
    std::string body;
    Durability durability = Durability::accepted;
    unsigned reserve = 0;
    Done done;
  };
  // A batch on its way into the file.
  struct Placed {
    Item item;
    std::uint64_t seq = 0;
  };
  struct Batch {
    std::string bytes;
    std::vector<Placed> placed;
    std::vector<Item> refused;
    std::uint64_t reserved = 0;  // receipts, for the records in it
    std::uint64_t aside = 0;     // bytes that stay free behind it
  };

  void run();
  std::deque<Item> wait_for_items(std::deque<Item> left);
  void begin();
  void write_items(std::deque<Item>& items);
  void place(std::deque<Item>& items, Batch& batch);
  bool admit(const Item& item, Batch& batch);
  void take_back(Batch& batch, const Chain& before, error_code error, std::deque<Item>& items);
  void answer(Batch& batch);
  void checkpoint_if_due();
  bool write_signed(std::string_view bytes, const Chain& before);
  void finish();

  bool make_room(std::uint64_t end);
  bool file_is_ours();
  bool write_all(std::string_view bytes, error_code& error);
  bool sync();
  void heal();
  void set_health(Health health, const std::string& why);
  std::uint64_t set_aside() const;
  Stamp now() const;

  std::filesystem::path path_;
  std::string origin_;
  SigningKey key_;
  const Clock& clock_;

  // The writer thread's own.
  std::unique_ptr<File> file_;
  Chain chain_;
  std::uint64_t size_ = 0;       // bytes of whole lines
  std::uint64_t allocated_ = 0;  // disk space we have up to here
  std::uint64_t unsigned_records_ = 0;
  std::chrono::nanoseconds signed_at_{0};
  std::chrono::nanoseconds tried_at_{0};
  std::chrono::nanoseconds complained_at_{0};
  bool complained_ = false;
  std::vector<std::string> first_bodies_;
  bool unsynced_ = false;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Item> queue_;
  std::size_t queued_records_ = 0;
  std::uint64_t reserved_ = 0;         // receipts that may still come
  std::uint64_t queued_receipts_ = 0;  // receipts that came and are not written
  bool closing_ = false;

  std::atomic<Health> health_{Health::ok};
  std::atomic<bool> complete_{false};  // the closing checkpoint is on the disk
  std::mutex closer_;
  std::thread thread_;
};

}  // namespace warder::audit
