#include "proxy/origin_quota.hpp"

namespace warder {

void OriginQuota::forget_if_empty(std::map<std::string, Entry>::iterator entry) {
  if (entry->second.open == 0 && entry->second.queue.empty()) entries_.erase(entry);
}

bool OriginQuota::take(const std::string& authority, Most most, Ticket ticket) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_[authority];
  const bool my_turn = entry.queue.empty() || entry.queue.front() == ticket;
  if (!my_turn || entry.open >= most.per_authority || open_ >= most.in_all) return false;
  ++entry.open;
  ++open_;
  return true;
}

void OriginQuota::give(const std::string& authority) {
  const std::scoped_lock lock(mutex_);
  const auto entry = entries_.find(authority);
  --entry->second.open;
  --open_;
  forget_if_empty(entry);
}

void OriginQuota::wait(const std::string& authority, Ticket ticket) {
  const std::scoped_lock lock(mutex_);
  entries_[authority].queue.push_back(ticket);
  ++waiting_;
}

void OriginQuota::leave(const std::string& authority, Ticket ticket) {
  const std::scoped_lock lock(mutex_);
  const auto entry = entries_.find(authority);
  entry->second.queue.remove(ticket);
  --waiting_;
  forget_if_empty(entry);
}

bool OriginQuota::is_wanted_elsewhere(const std::string& authority, const void* pool) const {
  if (waiting_ == 0) return false;
  const std::scoped_lock lock(mutex_);
  const auto entry = entries_.find(authority);
  if (entry == entries_.end() || entry->second.queue.empty()) return false;
  return entry->second.queue.front().pool != pool;
}

}  // namespace warder
