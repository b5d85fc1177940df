#include "audit/writer.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <future>
#include <iterator>
#include <stdexcept>

namespace warder::audit {
namespace {

constexpr std::size_t kFrameBytes = 256;  // what Chain::line puts around a body, newline included
constexpr std::uint64_t kCheckpointBytes = 1024;
constexpr std::chrono::seconds kComplainInterval{10};

bool is_lack_of_space(error_code error) {
  return error.value() == ENOSPC || error.value() == EDQUOT || error.value() == EFBIG;
}

// A write past `ulimit -f` must be an error here, not the end of the process.
void block_file_size_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

Writer::Writer(std::unique_ptr<File> file, SigningKey key, WriterStart start, const Clock& clock)
    : path_(std::move(start.path)),
      origin_(std::move(start.origin)),
      key_(std::move(key)),
      clock_(clock),
      file_(std::move(file)),
      chain_(std::move(start.chain)),
      size_(start.size),
      first_bodies_(std::move(start.bodies)) {
  std::promise<void> ready;
  std::future<void> started = ready.get_future();
  thread_ = std::thread([this, told = std::move(ready)]() mutable {
    block_file_size_signal();
    try {
      begin();
    } catch (...) {
      told.set_exception(std::current_exception());
      return;
    }
    told.set_value();
    run();
  });
  try {
    started.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

Writer::~Writer() { close(); }

void Writer::append(Record record, Durability durability, unsigned reserve, Done done) {
  Item item{Kind::record, {}, durability, reserve, std::move(done)};
  if (healthy()) {
    item.body = body_of(record);
  } else {
    item.kind = Kind::refused;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!closing_) {
      if (item.kind == Kind::record && queued_records_ >= kMaxQueued) {
        item.kind = Kind::refused;
        item.body = std::string();
      }
      if (item.kind == Kind::record) ++queued_records_;
      queue_.push_back(std::move(item));
      wake_.notify_one();
      return;
    }
  }
  item.done(false, 0);  // there is no writer any more
}

bool Writer::append_receipt(Receipt receipt) {
  Item item{Kind::receipt, body_of(Record(std::move(receipt))), Durability::accepted, 0, {}};
  const std::lock_guard lock(mutex_);
  if (reserved_ == 0) return false;
  --reserved_;
  const Health health = health_.load();
  if (closing_ || health == Health::stalled || health == Health::failed) return false;
  ++queued_receipts_;
  queue_.push_back(std::move(item));
  wake_.notify_one();
  return true;
}

bool Writer::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    wake_.notify_one();
  }
  if (std::this_thread::get_id() == thread_.get_id()) return false;  // from a callback: cannot wait
  const std::lock_guard lock(closer_);
  if (thread_.joinable()) thread_.join();
  return complete_.load();
}

void Writer::begin() {
  std::string bytes;
  for (const std::string& body : first_bodies_) chain_.add(body, now(), bytes);
  error_code error;
  signed_at_ = clock_.monotonic();
  if (make_room(size_ + bytes.size() + kClosingBytes) && write_all(bytes, error)) {
    size_ += bytes.size();
    unsigned_records_ = first_bodies_.size();
    if (sync()) return;
  } else {
    (void)file_->truncate(size_);
  }
  throw std::runtime_error("audit log " + path_.string() + ": cannot be written" +
                           (error ? ": " + error.message() : ", is the disk full?"));
}

void Writer::run() {
  std::deque<Item> items;
  for (bool last = false; !last;) {
    items = wait_for_items(std::move(items));
    heal();
    write_items(items);
    checkpoint_if_due();
    const std::lock_guard lock(mutex_);
    last = closing_ && queue_.empty();
  }
  tried_at_ = {};
  heal();
  write_items(items);
  if (items.empty()) finish();
}

std::deque<Writer::Item> Writer::wait_for_items(std::deque<Item> left) {
  const Health health = health_.load();
  std::chrono::nanoseconds limit = std::chrono::hours(1);
  if (health == Health::no_space || health == Health::stalled) limit = kHealInterval;
  if (health == Health::ok && (unsigned_records_ > 0 || unsynced_)) {
    limit = signed_at_ + kCheckpointInterval - clock_.monotonic();
  }
  limit = std::max<std::chrono::nanoseconds>(limit, std::chrono::milliseconds(1));
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, limit, [&] { return !queue_.empty() || closing_; });
  queued_records_ = 0;
  if (left.empty()) {
    left.swap(queue_);
  } else {
    std::move(queue_.begin(), queue_.end(), std::back_inserter(left));
    queue_.clear();
  }
  return left;
}

// Leaves in `items` only receipts that wait for space to come back.
void Writer::write_items(std::deque<Item>& items) {
  while (!items.empty()) {
    Batch batch;
    const Chain before = chain_;
    const Health health = health_.load();
    if (health == Health::stalled || health == Health::failed) {
      std::deque<Item> kept;
      for (Item& item : items) {
        if (item.kind != Kind::receipt) {
          batch.refused.push_back(std::move(item));
        } else if (health == Health::stalled) {
          kept.push_back(std::move(item));
        }
      }
      items = std::move(kept);
      answer(batch);
      return;
    }
    place(items, batch);
    error_code error;
    if (!batch.bytes.empty() && !(file_is_ours() && write_all(batch.bytes, error))) {
      take_back(batch, before, error, items);
    }
    answer(batch);
    checkpoint_if_due();
  }
}

void Writer::place(std::deque<Item>& items, Batch& batch) {
  const Stamp stamp = now();
  batch.aside = set_aside();
  while (!items.empty() && batch.bytes.size() < kMaxBatchBytes &&
         unsigned_records_ + batch.placed.size() < kCheckpointEvery) {
    Item item = std::move(items.front());
    items.pop_front();
    if (item.kind != Kind::receipt && !admit(item, batch)) {
      batch.refused.push_back(std::move(item));
      continue;
    }
    const std::uint64_t seq = chain_.size();
    chain_.add(item.body, stamp, batch.bytes);
    batch.placed.push_back({std::move(item), seq});
  }
}

bool Writer::admit(const Item& item, Batch& batch) {
  if (item.kind == Kind::refused || !healthy()) return false;
  const std::uint64_t reserve = std::uint64_t{item.reserve} * kMaxReceiptBytes;
  const std::uint64_t line = item.body.size() + kFrameBytes;
  if (!make_room(size_ + batch.bytes.size() + line + reserve + batch.aside)) {
    set_health(Health::no_space, "no space on the disk: every exchange is refused until there is");
    return false;
  }
  batch.aside += reserve;
  batch.reserved += item.reserve;
  return true;
}

// The file holds none of the batch: nobody may believe that it does.
void Writer::take_back(Batch& batch, const Chain& before, error_code error,
                       std::deque<Item>& items) {
  const bool cut = !error || file_->truncate(size_).has_value();
  chain_ = before;
  batch.reserved = 0;
  if (error && cut && is_lack_of_space(error)) {
    set_health(Health::stalled, "no space on the disk: every exchange is refused until there is");
  } else if (error) {
    set_health(Health::failed, "cannot be written (" + error.message() +
                                   "): every exchange is refused; look at the disk, then restart");
  }
  for (auto placed = batch.placed.rbegin(); placed != batch.placed.rend(); ++placed) {
    if (placed->item.kind == Kind::receipt) {
      items.push_front(std::move(placed->item));
    } else {
      batch.refused.push_back(std::move(placed->item));
    }
  }
  batch.placed.clear();
  batch.bytes.clear();
}

void Writer::answer(Batch& batch) {
  if (!batch.placed.empty()) {
    size_ += batch.bytes.size();
    unsynced_ = true;
    unsigned_records_ += batch.placed.size();
    const std::lock_guard lock(mutex_);
    reserved_ += batch.reserved;
    queued_receipts_ -= static_cast<std::uint64_t>(
        std::count_if(batch.placed.begin(), batch.placed.end(),
                      [](const Placed& placed) { return placed.item.kind == Kind::receipt; }));
  }
  for (const Item& item : batch.refused) item.done(false, 0);
  bool durable = false;
  for (const Placed& placed : batch.placed) {
    if (placed.item.kind == Kind::receipt) continue;
    if (placed.item.durability == Durability::durable) {
      durable = true;
    } else {
      placed.item.done(true, placed.seq);
    }
  }
  if (!durable) return;
  const bool synced = sync();
  for (const Placed& placed : batch.placed) {
    if (placed.item.kind == Kind::receipt || placed.item.durability != Durability::durable)
      continue;
    placed.item.done(synced, synced ? placed.seq : 0);
  }
}

void Writer::checkpoint_if_due() {
  const Health health = health_.load();
  if (health == Health::failed || health == Health::stalled) return;
  const auto passed = clock_.monotonic() - signed_at_;
  const bool full = unsigned_records_ >= kCheckpointEvery;
  if (!full && ((unsigned_records_ == 0 && !unsynced_) || passed < kCheckpointInterval)) return;
  signed_at_ = clock_.monotonic();
  if (unsigned_records_ > 0 && make_room(size_ + kCheckpointBytes + set_aside())) {
    const Chain before = chain_;
    std::string bytes;
    chain_.add_checkpoint(key_, origin_, bytes);
    write_signed(bytes, before);
  } else {
    unsigned_records_ = std::min(unsigned_records_, kCheckpointEvery - 1);
  }
  (void)sync();
}

void Writer::finish() {
  if (health_.load() == Health::failed || health_.load() == Health::stalled) return;
  const Chain before = chain_;
  std::string bytes;
  chain_.add(close_body(), now(), bytes);
  chain_.add_checkpoint(key_, origin_, bytes);
  if (!write_signed(bytes, before)) return;
  // Gives back what was allocated ahead; the file is right without it.
  (void)file_->truncate(size_);
  complete_ = sync();
}

bool Writer::write_signed(std::string_view bytes, const Chain& before) {
  error_code error;
  if (file_is_ours() && write_all(bytes, error)) {
    size_ += bytes.size();
    unsynced_ = true;
    unsigned_records_ = 0;
    return true;
  }
  Batch nothing;
  std::deque<Item> none;
  take_back(nothing, before, error, none);
  return false;
}

// Space is taken in steps; where a step does not fit any more, exactly what is needed.
bool Writer::make_room(std::uint64_t end) {
  if (end <= allocated_) return true;
  const std::uint64_t step = (end / kAllocationStep + 1) * kAllocationStep;
  for (const std::uint64_t target : {step, end}) {
    if (file_->allocate(target)) {
      allocated_ = target;
      return true;
    }
  }
  return false;
}

// logrotate's copytruncate, an editor, a second writer without our lock, rm: a log that somebody
// else changes is not one that can be vouched for.
bool Writer::file_is_ours() {
  const Result<FileState> state = file_->state();
  if (state && state->links > 0 && state->size == size_) return true;
  set_health(Health::failed, !state ? state.error().message()
                             : state->links == 0
                                 ? "was deleted: every exchange is refused; restart with a new file"
                                 : "was changed by somebody else: every exchange is refused");
  return false;
}

bool Writer::write_all(std::string_view bytes, error_code& error) {
  while (!bytes.empty()) {
    const Result<std::size_t> written = file_->write(bytes);
    if (!written || *written == 0) {
      error = written ? error_code(EIO, boost::system::system_category()) : written.error();
      return false;
    }
    bytes.remove_prefix(*written);
  }
  return true;
}

bool Writer::sync() {
  if (health_.load() == Health::failed) return false;
  const Result<> synced = file_->sync();
  if (!synced) {
    set_health(Health::failed, "cannot be synced (" + synced.error().message() +
                                   "): every exchange is refused; look at the disk, then restart");
    return false;
  }
  unsynced_ = false;
  return true;
}

void Writer::heal() {
  const Health health = health_.load();
  if (health != Health::no_space && health != Health::stalled) return;
  const auto mono = clock_.monotonic();
  if (tried_at_.count() != 0 && mono - tried_at_ < kHealInterval) return;
  tried_at_ = mono;
  // What was allocated before a write ran out of space may not be there.
  if (health == Health::stalled) allocated_ = 0;
  if (make_room(size_ + set_aside() + kMaxRecordBytes + kMaxReceiptBytes)) {
    set_health(Health::ok, "there is space again: exchanges are let through");
  }
}

void Writer::set_health(Health health, const std::string& why) {
  if (health_.exchange(health) == health) return;
  const auto mono = clock_.monotonic();
  const bool often = complained_at_.count() != 0 && mono - complained_at_ < kComplainInterval;
  if (health == Health::ok ? !complained_ : (often && health != Health::failed)) return;
  complained_ = health != Health::ok;
  if (complained_) complained_at_ = mono;
  std::fprintf(stderr, "warder: audit log %s: %s\n", path_.c_str(), why.c_str());
}

std::uint64_t Writer::set_aside() const {
  const std::lock_guard lock(mutex_);
  return (reserved_ + queued_receipts_) * kMaxReceiptBytes + kClosingBytes;
}

Stamp Writer::now() const {
  return {rfc3339(clock_.now()), static_cast<std::uint64_t>(clock_.monotonic().count())};
}

}  // namespace warder::audit
