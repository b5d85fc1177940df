#include "cli/published_ports.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/port_claim.hpp"
#include "cli/guard.hpp"
#include "cli/listening.hpp"
#include "cli/sandbox_start.hpp"
#include "http/authority.hpp"
#include "policy/address_range.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

constexpr std::size_t kMostPorts = 64;
constexpr std::uint16_t kDns = 53;  // of the sandbox: answered by the gateway
constexpr const char* kLocal = "127.0.0.1";

[[noreturn]] void fail(const std::string& text, const std::string& sentence) {
  throw ConfigError("--publish " + in_quotes(text) + ": " + sentence);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::uint16_t number_of(const std::string& text, std::string_view word, unsigned least) {
  const unsigned number =
      is_number(word) ? static_cast<unsigned>(std::stoul(std::string(word))) : 0;
  if (!is_number(word) || number < least || number > 65535) {
    fail(text, in_quotes(word) + " is no port: write HOSTPORT:PORT, such as 8080:3000, or " +
                   "ADDR:HOSTPORT:PORT");
  }
  return static_cast<std::uint16_t>(number);
}

// Before the first colon that is no part of an IPv6 address; empty: the text begins with a port.
std::string_view address_in(std::string_view text) {
  if (text.starts_with('[')) return text.substr(0, std::min(text.find(']'), text.size() - 1) + 1);
  const std::string_view first = text.substr(0, text.find(':'));
  return is_number(first) || first.empty() ? std::string_view() : first;
}

std::string checked_address(const std::string& text, std::string_view address) {
  const auto host = HostName::parse(address);
  if (host && host->is_address()) return host->uri_host();
  fail(text, in_quotes(address) +
                 " is no address of this machine: write one such as 127.0.0.1, "
                 "[::1], or 0.0.0.0 for all of them");
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "[::1]";
}

std::uint16_t port_of(const Fd& listener) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

}  // namespace

PublishedPort parse_publish(const std::string& text) {
  PublishedPort port;
  port.flag = "--publish " + text;
  std::string_view rest = text;
  const std::string_view address = address_in(rest);
  port.address = address.empty() ? kLocal : checked_address(text, address);
  rest.remove_prefix(address.size());
  if (!address.empty() && !rest.starts_with(':'))
    fail(text, "a port is missing behind the address");
  if (!address.empty()) rest.remove_prefix(1);
  const std::size_t colon = rest.find(':');
  const std::string_view of_host = rest.substr(0, colon);
  // ":3000" is a free port, as "0:3000" is.
  port.host_port = of_host.empty() && colon == 0 ? 0 : number_of(text, of_host, 0);
  port.port =
      colon == std::string_view::npos ? port.host_port : number_of(text, rest.substr(colon + 1), 1);
  if (port.port == 0)
    fail(text, "say which port of the sandbox is meant: 0:3000, for a free one here");
  if (port.port == kDns) fail(text, "port 53 of the sandbox is Warder's own resolver");
  return port;
}

PublishedPorts::PublishedPorts(const std::vector<std::string>& flags) {
  if (flags.size() > kMostPorts)
    throw ConfigError("--publish may stand " + std::to_string(kMostPorts) + " times at most");
  for (const std::string& text : flags) {
    Bound bound{parse_publish(text), {}, {}, true};
    const auto host = HostName::parse(bound.port.address);
    bound.listener = listen_on(*host, bound.port.host_port, "--publish " + text);
    bound.port.host_port = port_of(bound.listener);
    bound.claim = claim_port(bound.port.host_port);
    bound.is_local = is_loopback(bound.port.address);
    bound_.push_back(std::move(bound));
  }
}

std::vector<std::string> PublishedPorts::lines() const {
  std::vector<std::string> out;
  for (const Bound& bound : bound_) {
    const PublishedPort& port = bound.port;
    out.push_back("http://" + port.address + ":" + std::to_string(port.host_port) +
                  " → sandbox :" + std::to_string(port.port));
    if (!bound.is_local)
      out.push_back("  other machines can reach it: " + port.address + " is not the loopback");
  }
  return out;
}

void PublishedPorts::open(pid_t sandbox, PublishRecorder& recorder) {
  if (empty()) return;
  auto started = InsideSockets::start(sandbox, launcher_path());
  if (const auto* failure = std::get_if<LaunchFailure>(&started))
    throw RunRefused(failure->message, failure->exit_code);
  inside_ = std::make_unique<InsideSockets>(std::move(std::get<InsideSockets>(started)));
  const MakeInside make = [inside = inside_.get()](bool ipv6) {
    return inside->make(ipv6 ? IpFamily::v6 : IpFamily::v4);
  };
  publisher_ = std::make_unique<Publisher>(make, recorder);
  for (Bound& bound : bound_) publisher_->serve(bound.port, std::move(bound.listener));
}

void PublishedPorts::close() {
  publisher_.reset();
  inside_.reset();
}

}  // namespace warder
