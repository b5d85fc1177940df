// `warder-sandbox`: the launcher. Started by `warder`, and by itself as the first process inside a sandbox. No secret is
// ever in its memory.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sandbox-launcher/init.hpp"
#include "sandbox-launcher/launch.hpp"
#include "sandbox-launcher/probe.hpp"
#include "sandbox-launcher/socket_maker.hpp"

int main(int argc, char** argv) {
  if (argc >= 7 && std::strcmp(argv[1], "--init") == 0) {
    const bool foreground = std::strcmp(argv[2], "foreground") == 0;
    const auto bounds = warder::InsideBounds::parse(argv[5]);
    if (!bounds) return 126;
    return warder::run_init(argv + 6, foreground ? warder::Foreground::yes : warder::Foreground::no,
                            std::atoi(argv[3]), std::atoi(argv[4]), *bounds);
  }
  if (argc == 5 && std::strcmp(argv[1], "--control") == 0) {
    return warder::launch(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
  }
  if (argc == 5 && std::strcmp(argv[1], "--probe") == 0) {
    return warder::probe(argv[2], argv[3], argv[4]);
  }
  if (argc == 2 && std::strcmp(argv[1], "--probe-inside") == 0) return warder::probe_inside();
  if (argc == 5 && std::strcmp(argv[1], "--sockets") == 0) {
    return warder::make_sockets(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
  }
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::puts("warder-sandbox " WARDER_VERSION);
    return 0;
  }
  std::fputs("warder-sandbox is started by warder: see `warder run --help`.\n", stderr);
  return 2;
}
