// `warder-sandbox`: the launcher. Started by `warder`, and by itself as the first process inside a sandbox. No secret is
// ever in its memory.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sandbox-launcher/init.hpp"
#include "sandbox-launcher/launch.hpp"
#include "sandbox-launcher/socket_maker.hpp"

int main(int argc, char** argv) {
  if (argc >= 5 && std::strcmp(argv[1], "--init") == 0) {
    const bool foreground = std::strcmp(argv[2], "foreground") == 0;
    return warder::run_init(argv + 4, foreground ? warder::Foreground::yes : warder::Foreground::no,
                            std::atoi(argv[3]));
  }
  if (argc == 4 && std::strcmp(argv[1], "--control") == 0) {
    return warder::launch(std::atoi(argv[2]), std::atoi(argv[3]));
  }
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
