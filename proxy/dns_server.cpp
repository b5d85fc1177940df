#include "proxy/dns_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstring>

#include "dns/message.hpp"
#include "dns/reverse.hpp"
#include "proxy/record.hpp"

namespace warder {
namespace {

constexpr std::uint16_t kBlocked = 15;  // RFC 8914 extended error "Blocked"
constexpr std::uint16_t kClassIn = 1;

struct DnsDecision {
  dns::Answer answer;
  Reason reason = Reason::none;
  std::string said;  // for the record
  std::string suggestion;
  std::string rule;       // that refused it
  bool is_quiet = false;  // recorded, and no more made of it
};

std::string text_of(std::array<std::uint8_t, 4> address) {
  std::string text;
  for (const std::uint8_t byte : address) text += (text.empty() ? "" : ".") + std::to_string(byte);
  return text;
}

DnsDecision refused(Reason reason, std::string suggestion) {
  DnsDecision decision;
  decision.answer.rcode = dns::Rcode::nxdomain;
  decision.answer.extended_error = kBlocked;
  decision.answer.extended_text = "blocked by Warder's policy";
  decision.reason = reason;
  decision.said = "NXDOMAIN";
  decision.suggestion = std::move(suggestion);
  return decision;
}

DnsDecision no_data() {
  DnsDecision decision;
  decision.said = "NODATA";
  return decision;
}

// ANY is answered with one of the record sets that there are (RFC 8482 section 4.1).
bool is_asked_for(dns::Type kind, const dns::Query& query) {
  return query.type == kind || query.type == dns::ANY;
}

DnsDecision at(std::array<std::uint8_t, 4> address) {
  DnsDecision decision;
  decision.answer.address = address;
  decision.said = text_of(address);
  return decision;
}

// localhost is the sandbox's own (RFC 6761 section 6.3).
std::optional<DnsDecision> own_name(const dns::Query& query) {
  const std::string& name = query.name;
  if (!same_name(name, "localhost") &&
      !(name.size() > 10 && same_name(name.substr(name.size() - 10), ".localhost"))) {
    return std::nullopt;
  }
  return is_asked_for(dns::A, query) ? at({127, 0, 0, 1}) : no_data();
}

// The name of an address: of those that this session was given, and of the sandbox itself; empty: of no other.
std::string name_of(const dns::ReverseAddress& address, const Session& session) {
  if (const auto* v4 = std::get_if<std::array<std::uint8_t, 4>>(&address)) {
    if (*v4 == std::array<std::uint8_t, 4>{127, 0, 0, 1}) return "localhost";
    const auto name = session.zone.name_for(*v4);
    return name ? name->str() : "";
  }
  std::array<std::uint8_t, 16> loopback{};
  loopback.back() = 1;
  const auto& v6 = std::get<std::array<std::uint8_t, 16>>(address);
  return v6 == loopback ? "localhost" : "";
}

// Programs ask for the names of addresses all the time, for their logs: that one has none is nothing to tell a person.
DnsDecision reverse(const dns::Query& query, const dns::ReverseAddress& address,
                    const Session& session) {
  std::string name = name_of(address, session);
  if (name.empty()) {
    DnsDecision unknown = refused(Reason::name_not_allowed, "");
    unknown.is_quiet = true;
    return unknown;
  }
  if (!is_asked_for(dns::PTR, query)) return no_data();
  DnsDecision decision;
  decision.said = name;
  decision.answer.pointer = std::move(name);
  return decision;
}

DnsDecision other_class() {
  DnsDecision decision;
  decision.answer.rcode = dns::Rcode::refused;
  decision.reason = Reason::name_not_allowed;
  decision.said = "REFUSED";
  decision.is_quiet = true;
  return decision;
}

DnsDecision decide(const dns::Query& query, Session& session) {
  if (query.klass != kClassIn) return other_class();
  if (auto own = own_name(query)) return std::move(*own);
  if (const auto address = dns::reverse_address(query.name)) {
    return reverse(query, *address, session);
  }
  auto name = HostName::parse(query.name);
  if (!name || name->is_address()) return refused(Reason::name_not_allowed, "");
  const Verdict verdict = session.authorize_name(*name);
  if (!verdict.allows()) {
    DnsDecision decision = refused(Reason::name_not_allowed, verdict.suggestion);
    decision.rule = verdict.rule;
    return decision;
  }
  if (!is_asked_for(dns::A, query)) return no_data();
  const auto address = session.zone.address_for(*name);
  if (address) return at(*address);
  DnsDecision full;
  full.answer.rcode = dns::Rcode::servfail;
  full.reason = Reason::limit_exceeded;
  full.said = "SERVFAIL";
  return full;
}

void announce(Session& session, const std::string& name, const DnsDecision& decision) {
  if (decision.reason == Reason::none || decision.is_quiet) return;
  if (!session.denials.add(decision.reason, "look-up of " + name, decision.suggestion)) return;
  if (!session.announce) return;
  std::string line = "refused look-up of " + name;
  if (!decision.suggestion.empty()) line += " (to allow it: " + decision.suggestion + ")";
  session.announce(line);
}

// One record for `many` look-ups that got none of their own.
Task<> record_together(Gateway& gateway, std::shared_ptr<Session> session, std::uint64_t many) {
  if (many == 0) co_return;
  audit::DnsQuery entry;
  entry.session = session->id;
  entry.name = "(" + std::to_string(many) + " more)";
  entry.answer = "NXDOMAIN";
  entry.reason = Reason::name_not_allowed;
  entry.count = many;
  audit::Record what(std::move(entry));
  auto sequence = co_await record(gateway.audit, std::move(what), audit::Durability::accepted, 0);
  if (!sequence) session->denied_lookups.put_back(many);
}

// A datagram socket that Worker::stop can end.
class Datagrams final : public Swept {
 public:
  Datagrams(Worker& worker, Fd socket, Gateway& gateway, std::shared_ptr<Session> session)
      : worker_(worker),
        gateway_(gateway),
        session_(std::move(session)),
        socket_(worker.loop(), socket.release()),
        place_(worker.enlist(*this)) {
    error_code ignored;
    socket_.native_non_blocking(true, ignored);
  }
  ~Datagrams() override { worker_.delist(place_); }
  Datagrams(const Datagrams&) = delete;
  void on_sweep(SteadyTime now) override {
    if (session_->life == Life::ended) close();
    const std::uint64_t many = session_->denied_lookups.take(now);
    if (many > 0) worker_.spawn(record_together(gateway_, session_, many));
  }
  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }
  asio::posix::stream_descriptor& socket() { return socket_; }

 private:
  Worker& worker_;
  Gateway& gateway_;
  std::shared_ptr<Session> session_;
  asio::posix::stream_descriptor socket_;
  Worker::Place place_;
};

struct Datagram {
  sockaddr_storage from{};
  socklen_t from_size = sizeof(sockaddr_storage);
  alignas(cmsghdr) std::array<char, 256> control{};
  std::size_t control_size = 0;
  std::array<char, 4096> bytes{};
};

ssize_t receive(int fd, Datagram& datagram) {
  iovec part{datagram.bytes.data(), datagram.bytes.size()};
  msghdr message{};
  message.msg_name = &datagram.from;
  message.msg_namelen = sizeof datagram.from;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = datagram.control.data();
  message.msg_controllen = datagram.control.size();
  const ssize_t n = ::recvmsg(fd, &message, MSG_DONTWAIT);
  datagram.from_size = message.msg_namelen;
  datagram.control_size = message.msg_controllen;
  return n;
}

// From the address that was asked: its PKTINFO goes back as it came, less the interface.
void reply(int fd, Datagram& datagram, const std::string& answer) {
  iovec part{const_cast<char*>(answer.data()), answer.size()};
  msghdr message{};
  message.msg_name = &datagram.from;
  message.msg_namelen = datagram.from_size;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = datagram.control.data();
  message.msg_controllen = datagram.control_size;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO) {
      auto& packet = *reinterpret_cast<in_pktinfo*>(CMSG_DATA(at));
      packet.ipi_spec_dst = packet.ipi_addr;
      packet.ipi_ifindex = 0;
    }
  }
  (void)::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

Task<bool> record_lookup(const dns::Query& query, const DnsDecision& decision, Gateway& gateway,
                         Session& session) {
  const auto now = std::chrono::steady_clock::now();
  if (decision.reason == Reason::name_not_allowed &&
      !session.denied_lookups.is_recorded_alone(now)) {
    co_return gateway.audit.healthy();
  }
  audit::DnsQuery entry;
  entry.session = session.id;
  entry.name = query.name;
  entry.type = dns::type_name(query.type);
  entry.answer = decision.said;
  entry.reason = decision.reason;
  entry.rule = decision.rule;
  audit::Record what(std::move(entry));
  auto sequence = co_await record(gateway.audit, std::move(what), audit::Durability::accepted, 0);
  co_return sequence.has_value();
}

}  // namespace

Task<std::string> answer_dns(std::string packet, Gateway& gateway, Session& session) {
  auto query = dns::parse_query(packet);
  if (!query) co_return std::string();
  DnsDecision decision;
  if (query->opcode != 0) {
    decision.answer.rcode = dns::Rcode::notimp;
  } else if (query->wire_name.empty()) {
    decision.answer.rcode = dns::Rcode::formerr;
  } else if (query->edns_version != 0) {
    decision.answer.rcode = dns::Rcode::badvers;
  } else {
    decision = decide(*query, session);
    const bool recorded = co_await record_lookup(*query, decision, gateway, session);
    if (recorded) {
      announce(session, query->name, decision);
    } else {
      decision.answer = dns::Answer();
      decision.answer.rcode = dns::Rcode::servfail;
    }
  }
  co_return dns::write_answer(*query, decision.answer);
}

Task<> serve_dns_datagrams(Worker& worker, Fd socket, Gateway& gateway,
                           std::shared_ptr<Session> session) {
  const Session::Counted counted(session->listening);
  Datagrams datagrams(worker, std::move(socket), gateway, session);
  auto datagram = std::make_unique<Datagram>();
  while (datagrams.socket().is_open()) {
    const int fd = datagrams.socket().native_handle();
    const ssize_t n = receive(fd, *datagram);
    if (n < 0) {
      auto [error] = co_await datagrams.socket().async_wait(
          asio::posix::stream_descriptor::wait_read, as_result);
      if (error) break;
      continue;
    }
    std::string packet(datagram->bytes.data(), static_cast<std::size_t>(n));
    const std::string answer = co_await answer_dns(std::move(packet), gateway, *session);
    if (datagrams.socket().is_open() && !answer.empty()) reply(fd, *datagram, answer);
  }
  const std::uint64_t rest = session->denied_lookups.take_rest();
  co_await record_together(gateway, session, rest);
}

Task<> serve_dns_stream(Stream& stream, Gateway& gateway, Session& session) {
  stream.limit_reads(gateway.limits.request_head);
  stream.limit_writes(gateway.limits.request_head);
  std::string pending;
  std::array<char, 4096> piece{};
  for (;;) {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(pending[i]));
    };
    if (pending.size() >= 2 && pending.size() >= 2 + (byte(0) << 8 | byte(1))) {
      const std::size_t size = byte(0) << 8 | byte(1);
      std::string packet = pending.substr(2, size);
      pending.erase(0, 2 + size);
      const std::string answer = co_await answer_dns(std::move(packet), gateway, session);
      if (answer.empty()) co_return;
      std::string framed{static_cast<char>(answer.size() >> 8),
                         static_cast<char>(answer.size() & 0xff)};
      framed += answer;
      auto sent = co_await stream.write_all(framed);
      if (!sent) co_return;
      continue;
    }
    auto read = co_await stream.read_some(piece);
    if (!read) co_return;
    pending.append(piece.data(), *read);
  }
}

}  // namespace warder
