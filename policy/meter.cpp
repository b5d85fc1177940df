#include "policy/meter.hpp"

#include <algorithm>
#include <utility>

namespace warder {
namespace {

using std::chrono::milliseconds;

std::string seconds_text(std::chrono::seconds time) { return std::to_string(time.count()) + " s"; }

bool is_total(Limit limit) {
  return limit == Limit::requests || limit == Limit::upload || limit == Limit::download;
}

// "600 are", "1MiB is"
std::string amount(Limit limit, std::uint64_t value) {
  const bool many = info(limit).unit == LimitInfo::Unit::count && value != 1;
  return text_of(limit, value) + (many ? " are" : " is");
}

// Nothing frees it sooner than the end of the session, or of something that nobody can foresee.
bool is_longer(const Exceeded& a, const std::optional<Exceeded>& b) {
  if (!b) return true;
  if (!a.frees || !b->frees) return b->frees.has_value();
  return *a.frees > *b->frees;
}

}  // namespace

std::string Exceeded::name() const {
  return std::string(to_string(limit)) + ": " + text_of(limit, value);
}

std::string Exceeded::sentence() const {
  const std::string key = std::string(to_string(limit)) + ": ";
  if (frees)
    return key + amount(limit, value) + " used up; frees in " + seconds_text(*retry_after());
  if (left && is_total(limit))
    return name() + " for the session, of which " + std::to_string(*left) + " bytes are left";
  if (is_total(limit)) return key + amount(limit, value) + " used up, for the rest of the session";
  if (limit == Limit::request_body) return name() + " is the most that one may have";
  if (limit == Limit::lifetime) return name() + " is over";
  return key + amount(limit, value) + " open; frees when one of them ends";
}

std::optional<std::chrono::seconds> Exceeded::retry_after() const {
  if (!frees) return std::nullopt;
  return std::max(std::chrono::ceil<std::chrono::seconds>(*frees), std::chrono::seconds(1));
}

void Bucket::drain(std::uint64_t rate, milliseconds now) {
  // Whatever it holds within a minute's worth has gone after a minute; what others reserved beyond that drains on.
  const milliseconds passed = now - std::exchange(at_, std::max(at_, now));
  for (milliseconds left = passed; left > milliseconds(0) && held_ > 0; left -= kMinute) {
    const auto part = static_cast<std::uint64_t>(std::min(left, kMinute).count());
    held_ -= std::min(held_, part * rate);
  }
}

milliseconds Bucket::until_free(std::uint64_t units, std::uint64_t rate, milliseconds now) {
  drain(rate, now);
  const auto minute = static_cast<std::uint64_t>(kMinute.count());
  const std::uint64_t most = rate * minute;
  const std::uint64_t wanted = held_ + units * minute;
  if (wanted <= most) return milliseconds(0);
  return milliseconds((wanted - most + rate - 1) / rate);
}

void Bucket::add(std::uint64_t units, std::uint64_t rate, milliseconds now) {
  drain(rate, now);
  held_ += units * static_cast<std::uint64_t>(kMinute.count());
}

void Meter::set_limits(const Limits& limits) {
  const std::scoped_lock lock(mutex_);
  limits_ = limits;
  limits_bytes_ = limits.find(Limit::upload) || limits.find(Limit::download) ||
                  limits.find(Limit::upload_per_minute) || limits.find(Limit::download_per_minute);
  lifetime_ = limits.find(Limit::lifetime).value_or(0);
}

std::optional<std::uint64_t> Meter::find(Limit limit) const {
  const std::scoped_lock lock(mutex_);
  return limits_.find(limit);
}

milliseconds Meter::since_began(Time now) const {
  return std::chrono::floor<milliseconds>(now - began_);
}

void Meter::check_rate(std::optional<Exceeded>& worst, Limit limit, Bucket& bucket, Time now) {
  const auto rate = limits_.find(limit);
  if (!rate) return;
  const milliseconds wait = bucket.until_free(1, *rate, since_began(now));
  if (wait == milliseconds(0)) return;
  const Exceeded found{limit, *rate, wait, std::nullopt};
  if (is_longer(found, worst)) worst = found;
}

void Meter::check_count(std::optional<Exceeded>& worst, Limit limit, std::uint64_t used) {
  const auto most = limits_.find(limit);
  if (!most || used < *most) return;
  const Exceeded found{limit, *most, std::nullopt, std::nullopt};
  if (is_longer(found, worst)) worst = found;
}

void Meter::check_bytes(std::optional<Exceeded>& worst, std::uint64_t upload, Time now) {
  const std::uint64_t used = side(Way::up).used;
  check_count(worst, Limit::upload, used);
  check_count(worst, Limit::download, side(Way::down).used);
  const auto most = limits_.find(Limit::upload);
  if (most && used < *most && upload > *most - used && !worst)
    worst = Exceeded{Limit::upload, *most, std::nullopt, *most - used};
  check_rate(worst, Limit::upload_per_minute, side(Way::up).bucket, now);
  check_rate(worst, Limit::download_per_minute, side(Way::down).bucket, now);
}

void Meter::add(Limit limit, Bucket& bucket, std::uint64_t units, Time now) {
  if (const auto rate = limits_.find(limit)) bucket.add(units, *rate, since_began(now));
}

std::optional<Exceeded> Meter::begin_request(std::uint64_t head, std::uint64_t body, Time now) {
  const std::scoped_lock lock(mutex_);
  std::optional<Exceeded> worst;
  check_count(worst, Limit::requests, requests_);
  check_bytes(worst, head + std::min(body, UINT64_MAX - head), now);
  check_count(worst, Limit::concurrent, concurrent_);
  check_rate(worst, Limit::requests_per_minute, requests_bucket_, now);
  if (worst) return worst;
  ++requests_;
  ++concurrent_;
  add(Limit::requests_per_minute, requests_bucket_, 1, now);
  side(Way::up).used += head;
  add(Limit::upload_per_minute, side(Way::up).bucket, head, now);
  return std::nullopt;
}

void Meter::end_request() {
  const std::scoped_lock lock(mutex_);
  --concurrent_;
}

std::optional<Exceeded> Meter::open_connection(Time now) {
  const std::scoped_lock lock(mutex_);
  std::optional<Exceeded> worst;
  check_count(worst, Limit::connections, connections_);
  check_rate(worst, Limit::connections_per_minute, connections_bucket_, now);
  if (worst) return worst;
  ++connections_;
  add(Limit::connections_per_minute, connections_bucket_, 1, now);
  return std::nullopt;
}

void Meter::close_connection() {
  const std::scoped_lock lock(mutex_);
  --connections_;
}

std::optional<Exceeded> Meter::begin_bytes(Time now) {
  const std::scoped_lock lock(mutex_);
  std::optional<Exceeded> worst;
  check_bytes(worst, 0, now);
  return worst;
}

Meter::Passage Meter::pass(Way way, std::uint64_t bytes, Time now) {
  Side& of = side(way);
  if (bytes == 0) return {};
  if (!limits_bytes_) {
    of.used += bytes;
    return {};
  }
  const bool up = way == Way::up;
  const Limit total = up ? Limit::upload : Limit::download;
  const Limit per_minute = up ? Limit::upload_per_minute : Limit::download_per_minute;
  const std::scoped_lock lock(mutex_);
  const std::uint64_t used = of.used;
  const auto most = limits_.find(total);
  if (most && (used > *most || bytes > *most - used)) {
    of.used = std::max(used, *most);  // what is left is too little for anything: it is used up
    return {Exceeded{total, *most, std::nullopt, std::nullopt}, milliseconds(0)};
  }
  of.used += bytes;
  const auto rate = limits_.find(per_minute);
  if (!rate) return {};
  of.bucket.add(bytes, *rate, since_began(now));
  return {std::nullopt, of.bucket.until_free(0, *rate, since_began(now))};
}

std::optional<Exceeded> Meter::is_over(Time now) const {
  const std::uint64_t most = lifetime_;
  if (most == 0 || now - began_ < milliseconds(most)) return std::nullopt;
  return Exceeded{Limit::lifetime, most, std::nullopt, std::nullopt};
}

}  // namespace warder
