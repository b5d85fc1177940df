// A small host to look at from inside: a directory with a home and a workspace, and bubblewrap to run a shell in a view.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox-launcher/view.hpp"
#include "tests/support/catch.hpp"

namespace warder::test {

namespace fs = std::filesystem;

inline void write_file(const fs::path& path, const std::string& text = "x\n", mode_t mode = 0644) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
  REQUIRE(::chmod(path.c_str(), mode) == 0);
}

inline std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline Fd listen_on(const fs::path& path) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  REQUIRE(path.native().size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.native().size() + 1);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(socket.get(), 1) == 0);
  return socket;
}

struct Seen {
  std::string out;  // standard output and error
  int code = -1;
};

inline Seen run_in(const View& view, const std::string& script) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  std::vector<std::string> words{
      "/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--clearenv", "--setenv",
      "PATH",           view.path,       "--setenv",          "HOME",       kHomePath};
  words.insert(words.end(), view.arguments.begin(), view.arguments.end());
  words.insert(words.end(), {"--remount-ro", "/", "--", "/bin/sh", "-c", script});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(write_end.get(), 1);
    ::dup2(write_end.get(), 2);
    for (const Fd& fd : view.data) ::fcntl(fd.get(), F_SETFD, 0);
    ::execv(argv[0], argv.data());
    ::_exit(126);
  }
  write_end.reset();
  Seen seen;
  std::array<char, 4096> buffer{};
  for (ssize_t n; (n = ::read(read_end.get(), buffer.data(), buffer.size())) > 0;) {
    seen.out.append(buffer.data(), static_cast<std::size_t>(n));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  seen.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return seen;
}

// False, with the reason printed, where nothing can be run in a view.
inline bool can_run() {
  static const bool can = [] {
    View all;
    all.arguments = {"--ro-bind", "/", "/"};
    all.path = "/usr/bin:/bin";
    return run_in(all, "exit 0").code == 0;
  }();
  if (!can) WARN("skipped: bubblewrap cannot make a sandbox here");
  return can;
}

struct World {
  fs::path root;
  fs::path home;
  fs::path work;
  LaunchPlan plan;

  World() {
    std::string pattern = (fs::temp_directory_path() / "warder-test-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    REQUIRE(::chmod(pattern.c_str(), 0755) == 0);
    root = fs::canonical(pattern);
    home = root / "home/me";
    work = home / "project";
    fs::create_directories(work);
    plan.caller_home = home;
    plan.caller_path = "/usr/bin:/bin";
    plan.spec.workspace = work;
    plan.spec.bundle_pem = "the merged bundle\n";
    plan.spec.ca_pem = "our certificate\n";
    plan.spec.ca_hash = "0a1b2c3d";
    plan.spec.added_pem = "our certificate\n";
    plan.spec.java_store = "our store\n";
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }

  View view() const {
    return make_view(
        plan, [](const fs::path& path) { return path.string(); }, ::getuid(), ::getgid());
  }
  Seen run(const std::string& script) const { return run_in(view(), script); }
  // The message of the LaunchError that the view ends in; empty when it can be made.
  std::string refusal() const;
};

}  // namespace warder::test
