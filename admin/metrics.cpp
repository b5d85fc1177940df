#include "admin/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <unistd.h>

namespace warder {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

constexpr std::array kIngress =
    std::to_array<std::string_view>({"transparent", "connect", "absolute", "socks5", "other"});
constexpr std::array kProtocol = std::to_array<std::string_view>(
    {"http/1.0", "http/1.1", "h2", "tls", "tcp", "tunnel", "socks5", "other"});
constexpr std::array kAnswer =
    std::to_array<std::string_view>({"NODATA", "NXDOMAIN", "REFUSED", "SERVFAIL", "address"});
constexpr std::array kSaid = std::to_array<std::string_view>({"allow", "deny", "timeout"});
constexpr std::array kDecision = std::to_array<std::string_view>({"allow", "observe", "deny"});
constexpr std::size_t kReasons = static_cast<std::size_t>(Reason::internal) + 1;

// The last word stands for all that are not listed.
template <std::size_t N>
std::size_t place_of(std::string_view word, const std::array<std::string_view, N>& words) {
  const auto found = std::find(words.begin(), words.end() - 1, word);
  return static_cast<std::size_t>(found - words.begin());
}

// Not "foreign:stripped" and its like.
bool is_secret(std::string_view name) { return name.find(':') == std::string_view::npos; }

// What an intent names in a body, or in messages, only may be swapped: the receipt says whether it was.
bool stands_in_head(const audit::SecretUsed& use) {
  return is_secret(use.name) && use.place != "tls" && use.place != "ws" &&
         !use.place.starts_with("body");
}

double seconds(std::chrono::microseconds time) { return static_cast<double>(time.count()) / 1e6; }

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double open_descriptors() {
  std::error_code failed;
  double count = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", failed);
       !failed && it != std::filesystem::directory_iterator(); it.increment(failed))
    ++count;
  return count;
}

const Histogram::BucketBoundaries& buckets() {
  static const Histogram::BucketBoundaries kBuckets{
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};
  return kBuckets;
}

}  // namespace

struct Metrics::Series {
  prometheus::Registry registry;

  Family<Counter>& exchange = BuildCounter()
                                  .Name("warder_exchanges_total")
                                  .Help("Exchanges by way in, protocol and decision.")
                                  .Register(registry);
  Family<Counter>& refused = BuildCounter()
                                 .Name("warder_refused_total")
                                 .Help("Exchanges and connections that were refused, by reason.")
                                 .Register(registry);
  Family<Counter>& ended = BuildCounter()
                               .Name("warder_exchanges_ended_total")
                               .Help("Exchanges that were let through, by how they ended.")
                               .Register(registry);
  Family<Counter>& bytes = BuildCounter()
                               .Name("warder_body_bytes_total")
                               .Help("Bytes of bodies, by direction.")
                               .Register(registry);
  Family<Counter>& queries = BuildCounter()
                                 .Name("warder_dns_queries_total")
                                 .Help("Look-ups, by answer.")
                                 .Register(registry);
  Family<Counter>& asked = BuildCounter()
                               .Name("warder_approvals_total")
                               .Help("Questions that were answered, or not in time.")
                               .Register(registry);
  Family<Gauge>& gauges_sessions =
      BuildGauge().Name("warder_sessions").Help("Sessions that are open.").Register(registry);
  Family<Gauge>& gauges_connections = BuildGauge()
                                          .Name("warder_connections")
                                          .Help("Connections of sandboxes that are open.")
                                          .Register(registry);
  Family<Gauge>& gauges_audit = BuildGauge()
                                    .Name("warder_audit_healthy")
                                    .Help("1 while the audit log takes records, else 0.")
                                    .Register(registry);
  Family<Gauge>& gauges_memory = BuildGauge()
                                     .Name("process_resident_memory_bytes")
                                     .Help("Resident memory size in bytes.")
                                     .Register(registry);
  Family<Gauge>& gauges_fds = BuildGauge()
                                  .Name("process_open_fds")
                                  .Help("Number of open file descriptors.")
                                  .Register(registry);

  Counter& swaps = plain("warder_secret_uses_total", "Placeholders that were swapped for a value.");
  Counter& masks = plain("warder_masked_total", "Occurrences of a value that were masked.");
  Counter& secret_changes =
      plain("warder_secret_changes_total",
            "Secrets of sessions that were rotated, revoked, became unavailable or were restored.");
  Counter& policy_changes =
      plain("warder_policy_changes_total", "Policies of sessions that a reload replaced.");
  Counter& reloads_refused = plain("warder_reloads_refused_total",
                                   "Configurations that were not taken, which changes nothing.");
  Counter& dials = plain("warder_dials_total", "Origins dialled to learn what they speak.");
  Histogram& connect = timed("warder_connect_seconds", "From dialling to a verified connection.");
  Histogram& first_byte =
      timed("warder_first_byte_seconds", "From the request to the answer's head.");
  Histogram& total = timed("warder_exchange_seconds", "From the request to the end of the answer.");
  Gauge& sessions = gauges_sessions.Add({});
  Gauge& connections = gauges_connections.Add({});
  Gauge& audit_healthy = gauges_audit.Add({});
  Gauge& memory = gauges_memory.Add({});
  Gauge& fds = gauges_fds.Add({});
  Counter& up = bytes.Add({{"direction", "up"}});
  Counter& down = bytes.Add({{"direction", "down"}});
  std::array<Counter*, kReasons> refused_for{};
  std::array<Counter*, kReasons> ended_with{};
  std::array<Counter*, kAnswer.size()> answered{};
  std::array<Counter*, kSaid.size()> approvals{};
  std::array<std::array<std::array<Counter*, kDecision.size()>, kProtocol.size()>, kIngress.size()>
      exchanges{};

  // All series stand from the start: adding one later would take a lock on the data path.
  Series() {
    for (std::size_t i = 0; i < kReasons; ++i) {
      const std::string word(to_string(static_cast<Reason>(i)));
      ended_with[i] = &ended.Add({{"reason", word}});
      if (i > 0) refused_for[i] = &refused.Add({{"reason", word}});
    }
    for (std::size_t i = 0; i < kAnswer.size(); ++i)
      answered[i] = &queries.Add({{"answer", std::string(kAnswer[i])}});
    for (std::size_t i = 0; i < kSaid.size(); ++i)
      approvals[i] = &asked.Add({{"decision", std::string(kSaid[i])}});
    for (std::size_t way = 0; way < kIngress.size(); ++way) {
      for (std::size_t protocol = 0; protocol < kProtocol.size(); ++protocol) {
        for (std::size_t decision = 0; decision < kDecision.size(); ++decision) {
          exchanges[way][protocol][decision] =
              &exchange.Add({{"ingress", std::string(kIngress[way])},
                             {"protocol", std::string(kProtocol[protocol])},
                             {"decision", std::string(kDecision[decision])}});
        }
      }
    }
  }
  Counter& plain(const char* name, const char* help) {
    return BuildCounter().Name(name).Help(help).Register(registry).Add({});
  }
  Histogram& timed(const char* name, const char* help) {
    return BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets());
  }

  void take(const audit::Intent& intent) {
    const std::size_t decision = place_of(intent.decision, kDecision);
    exchanges[place_of(intent.ingress, kIngress)][place_of(intent.protocol, kProtocol)][decision]
        ->Increment();
    if (kDecision[decision] == "deny" && intent.reason != Reason::none)
      refused_for[static_cast<std::size_t>(intent.reason)]->Increment();
    for (const audit::SecretUsed& use : intent.uses) {
      if (stands_in_head(use)) swaps.Increment();
    }
  }
  void take(const audit::DnsQuery& query) {
    answered[place_of(query.answer, kAnswer)]->Increment(static_cast<double>(query.count));
  }
  void take(const audit::Dial&) { dials.Increment(); }
  void take(const audit::SecretChange&) { secret_changes.Increment(); }
  void take(const audit::Approval& approval) {
    approvals[place_of(approval.decision, kSaid)]->Increment();
  }
  void take(const audit::Receipt& receipt) {
    ended_with[static_cast<std::size_t>(receipt.reason)]->Increment();
    up.Increment(static_cast<double>(receipt.bytes_up));
    down.Increment(static_cast<double>(receipt.bytes_down));
    for (const audit::SecretSwapped& swapped : receipt.swapped) {
      if (is_secret(swapped.name)) swaps.Increment(static_cast<double>(swapped.count));
    }
    for (const audit::SecretMasked& masked : receipt.masked)
      masks.Increment(static_cast<double>(masked.count));
    if (receipt.connect.count() > 0) connect.Observe(seconds(receipt.connect));
    if (receipt.first_byte.count() > 0) first_byte.Observe(seconds(receipt.first_byte));
    total.Observe(seconds(receipt.total));
  }
  void take(const audit::BoundState&) {}
  void take(const audit::PolicyChange& change) {
    (change.change == "refused" ? reloads_refused : policy_changes).Increment();
  }
  void take(const audit::SessionStart&) {}
  // What runs inside a sandbox is for the record, not for a counter.
  void take(const audit::Exec&) {}
  void take(const audit::Exit&) {}
  void take(const audit::FilesChanged&) {}
  void take(const audit::SessionEnd&) {}
};

Metrics::Metrics() : series_(std::make_unique<Series>()) {}
Metrics::~Metrics() = default;

void Metrics::count(const audit::Record& record) {
  std::visit([&](const auto& event) { series_->take(event); }, record);
}
void Metrics::count(const audit::Receipt& receipt) { series_->take(receipt); }

std::string Metrics::text(const GatewayGauges& now, bool audit_healthy) const {
  series_->sessions.Set(static_cast<double>(now.sessions));
  series_->connections.Set(static_cast<double>(now.connections));
  series_->audit_healthy.Set(audit_healthy ? 1 : 0);
  series_->memory.Set(resident_bytes());
  series_->fds.Set(open_descriptors());
  return prometheus::TextSerializer().Serialize(series_->registry.Collect());
}

}  // namespace warder
