#include "cli/observations.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

#include "audit/json_text.hpp"
#include "audit/walk.hpp"
#include "base/reason.hpp"
#include "config/config.hpp"
#include "proxy/publish.hpp"

namespace warder {
namespace {

using Kind = Observation::Kind;

bool is_one_of(std::string_view word, std::initializer_list<Reason> reasons) {
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](Reason reason) { return word == to_string(reason); });
}

// A rule would have allowed it.
bool wants_a_rule(std::string_view reason) {
  return is_one_of(reason,
                   {Reason::host_not_allowed, Reason::method_not_allowed, Reason::path_not_allowed,
                    Reason::port_not_allowed, Reason::name_not_allowed});
}

// Let through, and then found to be what no policy should be made of.
bool is_no_evidence(std::string_view reason) {
  return is_one_of(reason,
                   {Reason::placeholder_wrong_host, Reason::placeholder_wrong_place,
                    Reason::placeholder_foreign, Reason::foreign_credential, Reason::secret_revoked,
                    Reason::address_not_allowed, Reason::quarantined});
}

std::optional<Authority> authority_from(std::string_view text) {
  const std::size_t sign = text.find("://");
  const std::string_view scheme = sign == std::string_view::npos ? "" : text.substr(0, sign);
  if (sign != std::string_view::npos) text.remove_prefix(sign + 3);
  const auto parts = parse_host_port(text);
  if (!parts) return std::nullopt;
  if (scheme == "http") return Authority{Scheme::http, parts->host, parts->port.value_or(80)};
  if (scheme == "https" || scheme == "tls")
    return Authority{Scheme::https, parts->host, parts->port.value_or(443)};
  if (scheme != "tcp" && !scheme.empty()) return std::nullopt;
  if (!parts->port) return std::nullopt;
  return Authority{Scheme::tcp, parts->host, *parts->port};
}

// A proxy that refuses a host and port has not heard yet what would be spoken there.
void take_for_http(Authority& authority) {
  if (authority.scheme == Scheme::tcp)
    authority.scheme = authority.port == 80 ? Scheme::http : Scheme::https;
}

std::optional<Observation> observation_of(const audit::ParsedLine& intent) {
  if (intent.text("ingress") == kPublishIngress) return std::nullopt;  // no rule is asked about it
  auto authority = authority_from(intent.text("authority"));
  if (!authority) return std::nullopt;
  Observation what{Kind::request, std::move(*authority), intent.text("method"),
                   intent.text("path")};
  what.path.resize(std::min(what.path.find('?'), what.path.size()));
  what.first = intent.stamp.time;
  const std::string protocol = intent.text("protocol");
  if (!what.method.empty())
    return what.authority.scheme == Scheme::tcp ? std::nullopt : std::optional(what);
  what.path.clear();
  what.kind = Kind::connection;
  if (protocol == "tcp" || protocol == "tunnel") {
    what.kind = protocol == "tcp" ? Kind::raw : Kind::tunnel;
    if (what.authority.scheme != Scheme::tcp) return std::nullopt;
  } else {
    take_for_http(what.authority);
  }
  return what;
}

std::vector<std::string> names_in(const audit::ParsedLine& line, const char* list, bool with_body) {
  std::vector<std::string> names;
  const boost::json::value* items = line.members.if_contains(list);
  if (items == nullptr || !items->is_array()) return names;
  for (const boost::json::value& item : items->get_array()) {
    if (!item.is_object()) continue;
    const auto text = [&](const char* key) {
      const boost::json::value* value = item.get_object().if_contains(key);
      return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
    };
    const std::string place = text("place");
    const bool is_later = place == "ws" || place.starts_with("body");
    if (with_body || !is_later) names.push_back(text("name"));
  }
  return names;
}

std::string exchange_of(const audit::ParsedLine& line) {
  return line.text("session") + '\n' + std::to_string(line.number("exchange").value_or(0));
}

bool is_count(std::string_view text) { return text.starts_with('(') && text.ends_with(" more)"); }

std::uint64_t count_in(const std::string& text) {
  std::uint64_t count = 0;
  for (const char c : text.substr(1)) {
    if (c < '0' || c > '9' || count > 1'000'000'000) break;
    count = count * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return count;
}

bool is_answered_here(std::string_view name) {
  return name == "localhost" || name.ends_with(".localhost") || name.ends_with(".arpa");
}

}  // namespace

void Gatherer::feed(std::string_view text) {
  const auto line = audit::ParsedLine::parse(text);
  if (line)
    feed(*line);
  else
    ++out_.not_records;
}

void Gatherer::feed(const audit::ParsedLine& line) {
  const std::string session = line.text("session");
  if (line.type == "session_start") {
    policy_of_[session] = line.text("policy");
    out_.policies.insert(line.text("policy"));
  }
  if (session.empty()) return;  // the log's own lines
  if (!filter_.session.empty() && session != filter_.session) return;
  if (!filter_.policy.empty()) {
    const auto found = policy_of_.find(session);
    if (found == policy_of_.end() || found->second != filter_.policy) return;
  }
  out_.sessions.insert(session);
  ++out_.records;
  if (line.type == "intent") intent(line);
  if (line.type == "receipt") receipt(line);
  if (line.type == "dns") look_up(line);
  if (line.type == "dial") dial(line);
}

void Gatherer::intent(const audit::ParsedLine& line) {
  if (is_count(line.text("authority"))) {
    out_.uncounted += count_in(line.text("authority"));
    return;
  }
  auto what = observation_of(line);
  const std::string reason = line.text("reason");
  if (line.text("decision") == "deny") {
    if (!what || !wants_a_rule(reason)) {
      if (is_no_evidence(reason)) ++out_.tripwires;
      return;
    }
    what->refused = 1;
    if (line.text("rule").empty())
      add(std::move(*what));
    else
      add_denied(std::move(*what));
    return;
  }
  if (!what) return;
  Open open{std::move(*what), line.text("rule"), names_in(line, "uses", false)};
  if (open_.size() >= kMaxOpen)
    ++out_.left_out;
  else
    open_.insert_or_assign(exchange_of(line), std::move(open));
}

void Gatherer::receipt(const audit::ParsedLine& line) {
  const auto found = open_.find(exchange_of(line));
  if (found == open_.end()) return;
  Open open = std::move(found->second);
  open_.erase(found);
  if (is_no_evidence(line.text("reason"))) {
    ++out_.tripwires;
    return;
  }
  for (std::string& name : names_in(line, "swapped", true)) open.uses.push_back(std::move(name));
  let_through(std::move(open));
}

void Gatherer::look_up(const audit::ParsedLine& line) {
  const std::string name = line.text("name");
  if (is_count(name)) {
    out_.uncounted += count_in(name);
    return;
  }
  const std::string reason = line.text("reason");
  const bool refused = wants_a_rule(reason);
  if ((!refused && reason != to_string(Reason::none)) || line.text("answer") == "REFUSED") return;
  const auto host = HostName::parse(name);
  if (!host || host->is_address() || is_answered_here(host->str())) return;
  Observation what{Kind::name, {Scheme::https, *host, 443}, "", ""};
  what.first = line.stamp.time;
  what.refused = refused ? 1 : 0;
  if (line.text("rule").empty())
    add(std::move(what));
  else
    add_denied(std::move(what));
}

void Gatherer::dial(const audit::ParsedLine& line) {
  auto authority = authority_from(line.text("authority"));
  if (!authority || authority->scheme == Scheme::tcp) return;
  Observation what{Kind::connection, std::move(*authority), "", ""};
  what.first = line.stamp.time;
  add(std::move(what));
}

void Gatherer::let_through(Open open) {
  const HostName& host = open.what.authority.host;
  if (!open.rule.empty()) out_.hosts_of_rule[open.rule].insert(host);
  for (std::string& name : open.uses) out_.uses.emplace(std::move(name), host);
  add(std::move(open.what));
}

void Gatherer::add(Observation what) {
  const Key key{what.kind, what.authority, what.method, what.path};
  if (const auto found = seen_.find(key); found != seen_.end()) {
    Observation& known = out_.seen[found->second];
    ++known.count;
    known.refused += what.refused;
  } else if (out_.seen.size() >= kMaxObservations) {
    ++out_.left_out;
  } else {
    seen_.emplace(key, out_.seen.size());
    out_.seen.push_back(std::move(what));
  }
}

void Gatherer::add_denied(Observation what) {
  const Key key{what.kind, what.authority, what.method, what.path};
  if (const auto found = denied_.find(key); found != denied_.end()) {
    ++out_.denied[found->second].count;
  } else if (out_.denied.size() >= kMaxObservations) {
    ++out_.left_out;
  } else {
    denied_.emplace(key, out_.denied.size());
    out_.denied.push_back(std::move(what));
  }
}

Gathered Gatherer::take() {
  // In the order of their names, so that the same records give the same policy.
  std::map<std::string, Open> rest(std::make_move_iterator(open_.begin()),
                                   std::make_move_iterator(open_.end()));
  open_.clear();
  for (auto& [name, open] : rest) let_through(std::move(open));
  return std::move(out_);
}

Gathered gather(const std::vector<std::filesystem::path>& files, const RecordFilter& filter) {
  Gatherer gatherer(filter);
  for (const std::filesystem::path& file : files) {
    const auto fail = [&](int error) {
      throw ConfigError(audit::printable(file.string()) +
                        ": cannot be read: " + std::generic_category().message(error));
    };
    const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) fail(errno);
    audit::LineReader reader(fd.get());
    while (const audit::RawLine* line = reader.next()) gatherer.feed(line->bytes);
    if (reader.error()) fail(reader.error().value());
  }
  return gatherer.take();
}

}  // namespace warder
