#include "cli/exec_reader.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "sandbox-launcher/exec_report.hpp"

namespace warder {
namespace {

constexpr int kTickMs = 1'000;

// True: one more packet.
bool receive_packet(int socket, std::vector<char>& room, std::vector<std::string>& packets,
                    bool& over) {
  const ssize_t n = ::recv(socket, room.data(), room.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  over = n <= 0;
  if (over) return false;
  // What is longer was cut, and is not one of ours.
  const std::size_t size =
      static_cast<std::size_t>(n) > room.size() ? 0 : static_cast<std::size_t>(n);
  packets.emplace_back(room.data(), size);
  return true;
}

}  // namespace

ExecReader::ExecReader(Fd reports, Take take)
    : reports_(std::move(reports)), take_(std::move(take)), thread_([this] { run(); }) {}

ExecReader::~ExecReader() {
  if (!thread_.joinable()) return;
  ::shutdown(reports_.get(), SHUT_RDWR);
  thread_.join();
}

void ExecReader::join() { thread_.join(); }

void ExecReader::run() {
  std::vector<char> room(kMostPacketBytes);
  bool over = false;
  while (!over) {
    pollfd ready{reports_.get(), POLLIN, 0};
    ::poll(&ready, 1, kTickMs);
    std::vector<std::string> packets;
    while (packets.size() < kMostAtOnce && receive_packet(reports_.get(), room, packets, over)) {
    }
    // With nobody to take it the sandbox's programs are refused.
    if (!take_(packets)) over = true;
  }
  ::shutdown(reports_.get(), SHUT_RDWR);
}

}  // namespace warder
