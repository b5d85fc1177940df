// A scripted DNS server on loopback, UDP and TCP on one port: keeps every question, answers as it is told.
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/proxy/support/wire.hpp"

namespace warder::test {

enum : std::uint16_t { kTypeA = 1, kTypeCname = 5, kTypeAaaa = 28 };

struct DnsRecord {
  std::string owner;
  std::uint16_t type;
  std::uint32_t ttl;
  std::string data;  // as on the wire
};

struct DnsReply {
  int code = 0;
  std::vector<DnsRecord> records;
  bool truncated = false;
};

struct DnsQuestion {
  std::string name;
  std::uint16_t type;
  bool tcp;
};

inline std::string dns_labels(std::string name) {
  std::string wire;
  for (name += '.'; !name.empty();) {
    const std::size_t dot = name.find('.');
    wire += static_cast<char>(dot) + name.substr(0, dot);
    name.erase(0, dot + 1);
  }
  return wire + '\0';
}

inline std::string dns_short(unsigned value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value & 255)};
}

inline DnsRecord a_record(const std::string& owner, const std::string& address,
                          std::uint32_t ttl = 60) {
  in_addr bytes{};
  ::inet_pton(AF_INET, address.c_str(), &bytes);
  return {owner, kTypeA, ttl, std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes)};
}

inline DnsRecord aaaa_record(const std::string& owner, const std::string& address,
                             std::uint32_t ttl = 60) {
  in6_addr bytes{};
  ::inet_pton(AF_INET6, address.c_str(), &bytes);
  return {owner, kTypeAaaa, ttl, std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes)};
}

inline DnsRecord cname_record(const std::string& owner, const std::string& target,
                              std::uint32_t ttl = 60) {
  return {owner, kTypeCname, ttl, dns_labels(target)};
}

class DnsScript {
 public:
  using Script = std::function<std::optional<DnsReply>(const DnsQuestion&)>;  // nothing: silence

  explicit DnsScript(Script script) : script_(std::move(script)) {
    for (bool bound = false; !bound;) {  // until a port is free for both
      tcp_ = listen_on_loopback();
      udp_ = Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      const sockaddr_in address = loopback(tcp_.port);
      bound = ::bind(udp_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    udp_thread_ = std::thread([this] { serve_udp(); });
    tcp_thread_ = std::thread([this] { serve_tcp(); });
  }
  ~DnsScript() {
    ::shutdown(tcp_.socket.get(), SHUT_RDWR);
    ::shutdown(udp_.get(), SHUT_RDWR);  // "not connected", and it wakes the reader all the same
    udp_thread_.join();
    tcp_thread_.join();
  }
  DnsScript(const DnsScript&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(tcp_.port); }
  std::vector<DnsQuestion> questions() const {
    const std::scoped_lock lock(mutex_);
    return questions_;
  }
  std::size_t count() const { return questions().size(); }

 private:
  std::string answer(const std::string& packet, bool tcp) {
    if (packet.size() < 17) return {};
    DnsQuestion question{{}, 0, tcp};
    std::size_t at = 12;
    while (packet[at] != 0) {
      const auto size = static_cast<std::size_t>(packet[at]);
      question.name += (question.name.empty() ? "" : ".") + packet.substr(at + 1, size);
      at += size + 1;
    }
    question.type = static_cast<std::uint16_t>(static_cast<unsigned char>(packet[at + 2]));
    at += 5;
    {
      const std::scoped_lock lock(mutex_);
      questions_.push_back(question);
    }
    const std::optional<DnsReply> reply = script_(question);
    if (!reply) return {};
    const unsigned flags =
        0x8180U | (reply->truncated ? 0x0200U : 0U) | static_cast<unsigned>(reply->code);
    std::string out = packet.substr(0, 2) + dns_short(flags) + dns_short(1) +
                      dns_short(static_cast<unsigned>(reply->records.size())) + dns_short(0) +
                      dns_short(0) + packet.substr(12, at - 12);
    for (const DnsRecord& record : reply->records) {
      out += dns_labels(record.owner) + dns_short(record.type) + dns_short(1) +
             dns_short(record.ttl >> 16) + dns_short(record.ttl & 0xFFFF) +
             dns_short(static_cast<unsigned>(record.data.size())) + record.data;
    }
    return out;
  }

  void serve_udp() {
    for (;;) {
      std::array<char, 4096> packet{};
      sockaddr_in peer{};
      socklen_t size = sizeof peer;
      const ssize_t n = ::recvfrom(udp_.get(), packet.data(), packet.size(), 0,
                                   reinterpret_cast<sockaddr*>(&peer), &size);
      if (n <= 0) return;
      const std::string out = answer({packet.data(), static_cast<std::size_t>(n)}, false);
      if (out.empty()) continue;
      ::sendto(udp_.get(), out.data(), out.size(), 0, reinterpret_cast<const sockaddr*>(&peer),
               size);
    }
  }

  void serve_tcp() {
    for (;;) {
      Fd socket(::accept4(tcp_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) return;
      Wire wire(std::move(socket));
      wire.set_patience(milliseconds(500));
      for (;;) {
        const std::string size = wire.read_exactly(2);
        if (size.size() != 2) break;
        const std::string packet =
            wire.read_exactly(static_cast<std::size_t>(static_cast<unsigned char>(size[0])) * 256U +
                              static_cast<unsigned char>(size[1]));
        const std::string out = answer(packet, true);
        if (out.empty() || !wire.send(dns_short(static_cast<unsigned>(out.size())) + out)) break;
      }
    }
  }

  Script script_;
  Listening tcp_;
  Fd udp_;
  mutable std::mutex mutex_;
  std::vector<DnsQuestion> questions_;
  std::thread udp_thread_;
  std::thread tcp_thread_;
};

// Answers A and AAAA of one name with these records, everything else with NXDOMAIN.
inline DnsScript::Script zone_of(std::vector<DnsRecord> records) {
  return [records = std::move(records)](const DnsQuestion& question) -> std::optional<DnsReply> {
    DnsReply reply;
    const bool known = std::any_of(records.begin(), records.end(), [&](const DnsRecord& record) {
      return record.owner == question.name;
    });
    if (!known) reply.code = 3;
    for (const DnsRecord& record : records) {
      if (known && (record.type == question.type || record.type == kTypeCname))
        reply.records.push_back(record);
    }
    return reply;
  };
}

}  // namespace warder::test
