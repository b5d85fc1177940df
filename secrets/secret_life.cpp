#include "secrets/secret_life.hpp"

#include <algorithm>
#include <utility>

namespace warder {
const char* to_string(SecretEvent event) {
  switch (event) {
    case SecretEvent::rotated: return "rotated";
    case SecretEvent::revoked: return "revoked";
    case SecretEvent::unavailable: return "unavailable";
    case SecretEvent::restored: return "restored";
    case SecretEvent::none: break;
  }
  return "none";
}

SecretLife::SecretLife(const Reading& first, SourceTime now) {
  take_value(first, now);
  version_ = std::max(1U, first.version);
}

SecretLife::Step SecretLife::take(const Reading& reading, SourceTime now) {
  if (reading.state == Reading::State::value) return take_value(reading, now);
  problem_ = reading.problem;
  Step step;
  if (reading.state == Reading::State::gone) {
    next_.reset();
    if (!is_revoked_ && !revoke_at_) revoke_at_ = now + reading.grace;
    if (reading.grace == SourceDuration::zero()) return pass(now);
  } else {
    // A source that can be looked at is asked again when it looks otherwise; this is for those that cannot.
    retry_ = retry_ == SourceDuration::zero() ? SourceDuration(kFirstRetry) : 2 * retry_;
    retry_ = std::min<SourceDuration>(retry_, kLastRetry);
    next_ = now + retry_;
    revoke_at_.reset();
  }
  if (!is_warned_ && value_) {
    step.warning = problem_ + "; the value that was known stays in use";
    is_warned_ = true;
  }
  return step;
}

SecretLife::Step SecretLife::pass(SourceTime now) {
  if (revoke_at_ && *revoke_at_ <= now) return lose(SecretEvent::revoked, problem_);
  if (value_ && expires_ && *expires_ <= now) {
    return lose(SecretEvent::unavailable,
                (problem_.empty() ? "its source has not answered" : problem_) +
                    "; what was known is too old now, so requests that need it are refused");
  }
  return {};
}

SecretLife::Step SecretLife::lose(SecretEvent how, std::string why) {
  value_ = nullptr;
  is_revoked_ = how == SecretEvent::revoked;
  is_warned_ = true;
  revoke_at_.reset();
  expires_.reset();
  return {how, std::move(why)};
}

SecretLife::Step SecretLife::take_value(const Reading& reading, SourceTime now) {
  Step step;
  const bool was_there = value_ != nullptr;
  const bool is_other = !last_ || !same_value(*last_, *reading.value);
  if (is_other) {
    if (last_) version_ = std::max(version_ + 1, reading.version);
    last_ = reading.value;
  }
  value_ = last_;
  if (!was_there) {
    step = {SecretEvent::restored, "there is a value again"};
  } else if (is_other) {
    step = {SecretEvent::rotated, {}};
  } else if (is_warned_) {
    step.warning = "its source is well again";
  }
  is_revoked_ = is_warned_ = false;
  problem_.clear();
  retry_ = {};
  revoke_at_.reset();
  expires_.reset();
  next_.reset();
  if (reading.lifetime > SourceDuration::zero()) {
    expires_ = now + reading.lifetime;
    next_ = now + reading.lifetime * 3 / 4;
  }
  return step;
}

}  // namespace warder
