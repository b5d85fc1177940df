#include "proxy/dns_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstring>

#include "dns/message.hpp"
#include "proxy/record.hpp"

namespace warder {
namespace {

constexpr std::uint16_t kBlocked = 15;  // RFC 8914 extended error "Blocked"

struct DnsDecision {
  dns::Answer answer;
  Reason reason = Reason::none;
  std::string said;  // for the record
  std::string suggestion;
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

// localhost is the sandbox's own (RFC 6761 section 6.3).
std::optional<DnsDecision> own_name(const std::string& name, std::uint16_t type) {
  if (!same_name(name, "localhost") &&
      !(name.size() > 10 && same_name(name.substr(name.size() - 10), ".localhost"))) {
    return std::nullopt;
  }
  DnsDecision decision;
  decision.said = type == dns::A ? "127.0.0.1" : "NODATA";
  if (type == dns::A) decision.answer.address = std::array<std::uint8_t, 4>{127, 0, 0, 1};
  return decision;
}

DnsDecision decide(const dns::Query& query, Session& session) {
  if (auto own = own_name(query.name, query.type)) return std::move(*own);
  auto name = HostName::parse(query.name);
  if (!name || name->is_address()) return refused(Reason::name_not_allowed, "");
  const Verdict verdict = session.policy.authorize_name(*name);
  if (!verdict.allows()) return refused(Reason::name_not_allowed, verdict.suggestion);
  DnsDecision decision;
  if (query.type != dns::A) {
    decision.said = "NODATA";
    return decision;
  }
  const auto address = session.zone.address_for(*name);
  if (!address) {
    decision.answer.rcode = dns::Rcode::servfail;
    decision.reason = Reason::limit_exceeded;
    decision.said = "SERVFAIL";
    return decision;
  }
  decision.answer.address = *address;
  decision.said = text_of(*address);
  return decision;
}

void announce(Session& session, const std::string& name, const DnsDecision& decision) {
  if (!session.denials.add(decision.reason, "look-up of " + name, decision.suggestion)) return;
  if (!session.announce) return;
  std::string line = "refused look-up of " + name;
  if (!decision.suggestion.empty()) line += " (to allow it: " + decision.suggestion + ")";
  session.announce(line);
}

// A datagram socket that Worker::stop can end.
class Datagrams final : public Swept {
 public:
  Datagrams(Worker& worker, Fd socket)
      : worker_(worker), socket_(worker.loop(), socket.release()), place_(worker.enlist(*this)) {
    error_code ignored;
    socket_.native_non_blocking(true, ignored);
  }
  ~Datagrams() override { worker_.delist(place_); }
  Datagrams(const Datagrams&) = delete;
  void on_sweep(SteadyTime) override {}
  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }
  asio::posix::stream_descriptor& socket() { return socket_; }

 private:
  Worker& worker_;
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

}  // namespace

Task<std::string> answer_dns(std::string packet, Gateway& gateway, Session& session) {
  auto query = dns::parse_query(packet);
  if (!query) co_return std::string();
  DnsDecision decision;
  if (query->opcode != 0) {
    decision.answer.rcode = dns::Rcode::notimp;
    co_return dns::write_answer(*query, decision.answer);
  }
  if (query->wire_name.empty()) {
    decision.answer.rcode = dns::Rcode::formerr;
    co_return dns::write_answer(*query, decision.answer);
  }
  decision = decide(*query, session);
  audit::DnsQuery entry;
  entry.session = session.id;
  entry.name = query->name;
  entry.type = dns::type_name(query->type);
  entry.answer = decision.said;
  entry.reason = decision.reason;
  audit::Record what(std::move(entry));
  auto sequence = co_await record(gateway.audit, std::move(what), audit::Durability::accepted, 0);
  if (!sequence) {
    decision.answer = dns::Answer();
    decision.answer.rcode = dns::Rcode::servfail;
  } else if (decision.reason != Reason::none) {
    announce(session, query->name, decision);
  }
  co_return dns::write_answer(*query, decision.answer);
}

Task<> serve_dns_datagrams(Worker& worker, Fd socket, Gateway& gateway,
                           std::shared_ptr<Session> session) {
  Datagrams datagrams(worker, std::move(socket));
  auto datagram = std::make_unique<Datagram>();
  for (;;) {
    const int fd = datagrams.socket().native_handle();
    const ssize_t n = receive(fd, *datagram);
    if (n < 0) {
      auto [error] = co_await datagrams.socket().async_wait(
          asio::posix::stream_descriptor::wait_read, as_result);
      if (error) co_return;
      continue;
    }
    std::string packet(datagram->bytes.data(), static_cast<std::size_t>(n));
    const std::string answer = co_await answer_dns(std::move(packet), gateway, *session);
    if (!datagrams.socket().is_open()) co_return;
    if (!answer.empty()) reply(fd, *datagram, answer);
  }
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
