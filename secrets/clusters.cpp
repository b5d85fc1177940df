#include "secrets/clusters.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace warder {
namespace {

bool goes_first(const Clusters::Hit& one, const Clusters::Hit& other) {
  return std::tie(one.at.begin, other.at.end, one.found) <
         std::tie(other.at.begin, one.at.end, other.found);
}

}  // namespace

void Clusters::add(const Matcher::Hit& match, Found found) {
  if (match.end <= taken_) return;
  Cluster all{{match, found}, match.end};
  auto behind = clusters_.end();
  while (behind != clusters_.begin() && std::prev(behind)->first.at.begin >= match.end) --behind;
  while (behind != clusters_.begin() && std::prev(behind)->end > match.begin) {
    const auto shared = std::prev(behind);
    if (goes_first(shared->first, all.first)) all.first = shared->first;
    all.end = std::max(all.end, shared->end);
    clusters_.erase(shared);
  }
  clusters_.insert(behind, all);
}

std::optional<Clusters::Hit> Clusters::take(std::size_t begun) {
  if (clusters_.empty()) return std::nullopt;
  const Cluster& next = clusters_.front();
  Hit hit = next.first;
  const bool is_rest = hit.at.begin < taken_;
  if (is_rest) hit.at.end = next.end;
  if (!is_rest && hit.at.begin >= begun) return std::nullopt;
  taken_ = hit.at.end;
  if (taken_ == next.end) clusters_.pop_front();
  return hit;
}

void Clusters::drop(std::size_t n) {
  taken_ -= std::min(taken_, n);
  for (Cluster& cluster : clusters_) {
    cluster.first.at.begin -= n;
    cluster.first.at.end -= n;
    cluster.end -= n;
  }
}

}  // namespace warder
