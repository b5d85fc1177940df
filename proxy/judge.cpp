#include "proxy/judge.hpp"

#include "secrets/target_places.hpp"

namespace warder {
namespace {

Judgement refused(Judgement judgement, Reason reason, std::string detail) {
  judgement.verdict = Verdict();
  judgement.verdict.reason = reason;
  judgement.detail = std::move(detail);
  return judgement;
}

// The name that the request itself gives (absolute form before Host, RFC 9112 section 3.2.2), if any.
struct Claimed {
  std::optional<HostPort> host;
  Reason wrong = Reason::none;
  std::string detail;
};

Claimed claimed_by(const RequestHead& head, const Target& target) {
  Claimed claimed;
  const std::size_t hosts = head.fields.count("host");
  if (hosts > 1 || (hosts == 0 && head.minor >= 1)) {
    claimed.wrong = Reason::malformed_request;
    claimed.detail = hosts > 1 ? "more than one Host field" : "no Host field";
    return claimed;
  }
  if (hosts == 1) {
    auto parsed = parse_host_port(head.fields.find("host")->value);
    if (!parsed) {
      claimed.wrong = Reason::malformed_request;
      claimed.detail = "the Host field is not a host: " + parsed.error().message();
      return claimed;
    }
    claimed.host = std::move(*parsed);
  }
  if (!target.host_port) return claimed;
  const std::uint16_t usual = default_port(target.scheme.value_or(Scheme::https));
  if (claimed.host &&
      (claimed.host->host != target.host_port->host ||
       claimed.host->port.value_or(usual) != target.host_port->port.value_or(usual))) {
    claimed.wrong = Reason::malformed_request;
    claimed.detail = "the target and the Host field name different hosts";
    return claimed;
  }
  claimed.host = target.host_port;
  return claimed;
}

std::optional<std::string> disagreement(const Arrival& arrival, const Target& target,
                                        const HostPort& host) {
  if (target.scheme && *target.scheme != arrival.scheme) return "the target names another scheme";
  if (host.port.value_or(default_port(arrival.scheme)) != arrival.port) {
    return "the request names port " +
           std::to_string(host.port.value_or(default_port(arrival.scheme))) +
           ", the connection goes to port " + std::to_string(arrival.port);
  }
  if (arrival.bound && host.host != *arrival.bound) {
    return "the request names " + host.host.str() + ", the connection stands for " +
           arrival.bound->str();
  }
  // Under TLS without SNI the leaf was made for the address itself.
  if (arrival.scheme == Scheme::https && !arrival.bound && arrival.literal &&
      host.host != *arrival.literal) {
    return "the request names " + host.host.str() + ", the connection stands for " +
           arrival.literal->str();
  }
  return std::nullopt;
}

// What an absolute form names, as the arrival that its connection would have been.
std::optional<Arrival> arrival_of(const Target& target, std::string& wrong) {
  if (target.form != Target::Form::absolute) {
    wrong = "a proxy is asked for a whole URL (http://host/path), or with CONNECT";
    return std::nullopt;
  }
  if (*target.scheme != Scheme::http) {
    wrong = "a proxy is asked for https with CONNECT, not with a whole URL";
    return std::nullopt;
  }
  Arrival arrival;
  arrival.scheme = Scheme::http;
  arrival.port = target.host_port->port.value_or(80);
  const HostName& host = target.host_port->host;
  (host.is_address() ? arrival.literal : arrival.bound) = host;
  return arrival;
}

}  // namespace

std::optional<std::uint64_t> body_bytes_of(const Framing& framing) {
  if (framing.kind == Framing::Kind::none) return 0;
  if (framing.kind == Framing::Kind::length) return framing.length;
  return std::nullopt;
}

std::optional<Authority> authority_of(const Arrival& arrival) {
  if (arrival.bound) return Authority{arrival.scheme, *arrival.bound, arrival.port};
  if (arrival.literal) return Authority{arrival.scheme, *arrival.literal, arrival.port};
  return std::nullopt;
}

Judgement judge(const RequestHead& head, const Framing& framing, const Arrival& arrived,
                const Policy& policy) {
  Judgement judgement;
  judgement.authority = authority_of(arrived);
  auto target = parse_target(head.method, head.target);
  if (!target)
    return refused(std::move(judgement), Reason::malformed_request, "the target is malformed");
  judgement.target = std::move(*target);
  Arrival arrival = arrived;
  if (arrived.forwards) {
    std::string wrong;
    auto named = arrival_of(judgement.target, wrong);
    if (!named) return refused(std::move(judgement), Reason::malformed_request, std::move(wrong));
    arrival = std::move(*named);
    judgement.authority = authority_of(arrival);
  }
  if (arrival.refused) {
    judgement.verdict = *arrival.refused;
    return judgement;
  }
  Claimed claimed = claimed_by(head, judgement.target);
  if (claimed.wrong != Reason::none) {
    return refused(std::move(judgement), claimed.wrong, std::move(claimed.detail));
  }
  if (claimed.host) {
    if (auto wrong = disagreement(arrival, judgement.target, *claimed.host)) {
      const bool as_proxy = judgement.target.form == Target::Form::absolute;
      return refused(std::move(judgement),
                     as_proxy ? Reason::malformed_request : Reason::authority_mismatch,
                     std::move(*wrong));
    }
    judgement.authority = Authority{arrival.scheme, claimed.host->host, arrival.port};
  }
  if (!judgement.authority) {
    return refused(std::move(judgement), Reason::malformed_request, "nothing names the host");
  }
  if (judgement.target.form == Target::Form::authority) {
    judgement.verdict = policy.authorize({*judgement.authority, head.method, "/"});
    return judgement;
  }
  if (is_ambiguous_path(judgement.target.path)) {
    return refused(std::move(judgement), Reason::malformed_request,
                   "the path has dot segments, a backslash, a NUL or a broken escape");
  }
  judgement.verdict =
      policy.authorize({*judgement.authority, head.method, judgement.target.path,
                        judgement.target.query, &head.fields, body_bytes_of(framing)});
  return judgement;
}

std::string without_placeholders(const std::string& text, const SessionSecrets& secrets) {
  std::string out;
  std::size_t at = 0;
  for (;;) {
    const Matcher::Hit hit = secrets.placeholders().find(text, at);
    if (hit.pattern == Matcher::npos) break;
    out.append(text, at, hit.begin - at);
    out += "[secret:" + secrets.credentials()[hit.pattern].name + "]";
    at = hit.end;
  }
  out.append(text, at);
  return out;
}

namespace {

enum class QueryValues : std::uint8_t { left_out, shown };

std::string path_with(const Target& target, const SessionSecrets& secrets, QueryValues values) {
  const std::string text = target.has_query ? target.path + '?' + target.query : target.path;
  const std::size_t query = target.has_query ? target.path.size() : text.size();
  const auto hits = target_hits(text, secrets.placeholders());
  auto hit = hits.begin();
  std::string shown;
  bool in_value = false;
  for (std::size_t at = 0; at < text.size();) {
    if (hit != hits.end() && at == hit->begin) {
      shown += "[secret:" + secrets.credentials()[hit->pattern].name + "]";
      at = (hit++)->end;
      continue;
    }
    const char c = text[at++];
    if (at > query && (c == '&' || c == ';')) in_value = false;
    if (!in_value) shown += c;
    if (values == QueryValues::left_out && at > query && c == '=' && !in_value) {
      in_value = true;
      const bool is_swapped = hit != hits.end() && at == hit->begin;
      if (!is_swapped) shown += "…";
    }
  }
  // Where no grant could name it, it may stand across what the grammar keeps apart.
  return without_placeholders(shown, secrets);
}

}  // namespace

std::string audited_path(const Target& target, const SessionSecrets& secrets) {
  return path_with(target, secrets, QueryValues::left_out);
}

std::string shown_path(const Target& target, const SessionSecrets& secrets) {
  return path_with(target, secrets, QueryValues::shown);
}

}  // namespace warder
