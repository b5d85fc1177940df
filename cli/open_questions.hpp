// The questions that wait at gateways, as `warder approve` sees and shows them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <boost/json.hpp>

namespace warder {

struct OpenQuestion {
  std::filesystem::path socket;  // where it is answered
  std::string id;
  std::uint64_t count = 1;
  boost::json::object all;  // as the gateway said it
};

// For one gateway: one that is stopped must not hold up the questions of the others.
inline constexpr std::chrono::seconds kListingPatience{2};

// The admin sockets in the runtime directory: of `warder gateway` and of each `warder run`.
std::vector<std::filesystem::path> gateway_sockets();
// Of all of them. Gateways that have gone are left out. Throws std::runtime_error.
std::vector<OpenQuestion> open_questions(const std::vector<std::filesystem::path>& sockets);
// Several lines, in which nothing is obeyed by a terminal whatever the gateway said.
std::string text_of(const OpenQuestion& question);

}  // namespace warder
