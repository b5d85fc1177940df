#include "proxy/approvals.hpp"

#include <algorithm>
#include <array>

#include "base/encoding.hpp"
#include "config/trust_store.hpp"

namespace warder {
namespace {

// Whoever cannot list the questions cannot guess one.
std::string new_id(Random& random) {
  std::array<std::uint8_t, 16> bytes{};
  random.fill(bytes);
  return hex_encode(bytes);
}

}  // namespace

std::string digest_of(const std::vector<std::string_view>& parts) {
  std::string all;
  for (const std::string_view part : parts) {
    all += std::to_string(part.size()) + ':';
    all += part;
  }
  return sha256_hex(all);
}

void Approvals::limit(const AskLimits& limits) {
  const std::scoped_lock lock(mutex_);
  limits_ = limits;
}

bool Approvals::take_place() {
  const std::scoped_lock lock(mutex_);
  if (places_ >= limits_.pending * kHeldPerQuestion) return false;
  ++places_;
  return true;
}

void Approvals::leave_place() {
  const std::scoped_lock lock(mutex_);
  --places_;
}

std::optional<Approvals::Ticket> Approvals::ask(const Question& question, SteadyTime now,
                                                Random& random) {
  const std::scoped_lock lock(mutex_);
  auto open = std::find_if(open_.begin(), open_.end(), [&](const auto& each) {
    return each.second.question.binding == question.binding && now < each.second.expires;
  });
  if (open == open_.end()) {
    if (open_.size() >= limits_.pending) return std::nullopt;
    Open made{question, now, now + limits_.timeout, {}};
    open = open_.emplace(new_id(random), std::move(made)).first;
  }
  const Ticket ticket = next_++;
  open->second.waiting.push_back(ticket);
  waiting_[ticket].id = open->first;
  return ticket;
}

std::optional<std::string> Approvals::due_notice(Ticket ticket, SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  const auto open = open_.find(waiting_.at(ticket).id);
  if (open == open_.end() || open->second.noticed) return std::nullopt;
  if (noticed_ && now - *noticed_ < kNoticeEvery) return std::nullopt;
  noticed_ = now;
  open->second.noticed = true;
  return open->first;
}

Approvals::Standing Approvals::look(Ticket ticket, SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  const Waiting& waiting = waiting_.at(ticket);
  if (waiting.standing.state != State::waiting) return waiting.standing;
  Open& open = open_.at(waiting.id);
  if (now < open.expires || open.taken) return {};
  open.taken = true;
  return {State::overdue, 0};
}

std::optional<Approvals::Asked> Approvals::asked(Ticket ticket, SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  const auto open = open_.find(waiting_.at(ticket).id);
  if (open == open_.end()) return std::nullopt;
  return asked_of(open->first, open->second, now);
}

void Approvals::tell(Open& open, std::size_t count, const Standing& standing) {
  for (; count > 0 && !open.waiting.empty(); --count) {
    waiting_.at(open.waiting.front()).standing = standing;
    open.waiting.pop_front();
  }
}

void Approvals::time_out(Ticket ticket) {
  const std::scoped_lock lock(mutex_);
  const auto open = open_.find(waiting_.at(ticket).id);
  if (open == open_.end()) return;
  tell(open->second, open->second.waiting.size(), {State::timed_out, 0});
  open_.erase(open);
}

void Approvals::withdraw(Ticket ticket) {
  const std::scoped_lock lock(mutex_);
  const auto waiting = waiting_.find(ticket);
  if (waiting == waiting_.end()) return;
  const auto open = open_.find(waiting->second.id);
  waiting_.erase(waiting);
  if (open == open_.end()) return;
  std::erase(open->second.waiting, ticket);
  if (open->second.waiting.empty() && !open->second.taken) open_.erase(open);
}

std::optional<std::uint64_t> Approvals::standing_yes(const std::string& rule,
                                                     const std::string& where, SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  const auto yes = rules_.find({rule, where});
  if (yes == rules_.end()) return std::nullopt;
  if (now < yes->second.until) return yes->second.record;
  rules_.erase(yes);
  return std::nullopt;
}

void Approvals::forget_rules() {
  const std::scoped_lock lock(mutex_);
  rules_.clear();
  for (auto& [id, open] : open_) tell(open, open.waiting.size(), {State::outdated, 0});
  open_.clear();
}

Approvals::Asked Approvals::asked_of(const std::string& id, const Open& open, SteadyTime now) {
  return {id, open.question, open.waiting.size(), now - open.since,
          std::max(open.expires - now, SteadyDuration::zero())};
}

std::vector<Approvals::Asked> Approvals::list(SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  std::vector<Asked> all;
  for (const auto& [id, open] : open_) {
    if (!open.taken && now < open.expires) all.push_back(asked_of(id, open, now));
  }
  return all;
}

Approvals::OpenPlace Approvals::place_of(const std::string& id, bool taken) {
  const auto open = open_.find(id);
  return open != open_.end() && open->second.taken == taken ? open : open_.end();
}

std::optional<Approvals::Asked> Approvals::take(const std::string& id, SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  const auto open = place_of(id, false);
  if (open == open_.end() || now >= open->second.expires) return std::nullopt;
  open->second.taken = true;
  return asked_of(id, open->second, now);
}

void Approvals::settle(const std::string& id, const Answer& answer, std::uint64_t record,
                       SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  const auto taken = place_of(id, true);
  if (taken == open_.end()) return;
  if (!answer.yes) {
    tell(taken->second, taken->second.waiting.size(), {State::denied, record});
    open_.erase(taken);
    return;
  }
  taken->second.taken = false;
  const Standing yes{State::allowed, record};
  if (!answer.rule_for) {
    tell(taken->second, answer.count, yes);
    if (taken->second.waiting.empty()) open_.erase(taken);
    return;
  }
  const Question& about = taken->second.question;
  const std::pair rule(about.rule, about.where);
  rules_[rule] = {now + std::min(*answer.rule_for, kLongestRule), record};
  for (auto each = open_.begin(); each != open_.end();) {
    Open& open = each->second;
    const bool is_meant = !open.taken && std::pair(open.question.rule, open.question.where) == rule;
    if (is_meant) tell(open, open.waiting.size(), yes);
    each = is_meant ? open_.erase(each) : std::next(each);
  }
}

void Approvals::give_back(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  const auto taken = place_of(id, true);
  if (taken == open_.end()) return;
  taken->second.taken = false;
  if (taken->second.waiting.empty()) open_.erase(taken);
}

}  // namespace warder
