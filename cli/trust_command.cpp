#include "cli/trust_command.hpp"

#include <iostream>
#include <stdexcept>

#include "cli/state.hpp"
#include "config/load.hpp"
#include "config/summary.hpp"
#include "config/trust_store.hpp"

namespace warder {

int trust_command(const TrustArgs& args) {
  try {
    // Read once: what is shown is what is pinned.
    const Config config = load_config(args.file);
    std::cout << summary(config);
    const TrustStore store(state_directory());
    store.pin(args.file, config.bytes);
    std::cout << "Pinned " << args.file.string() << " (SHA-256 " << sha256_hex(config.bytes)
              << ") in " << store.file().string()
              << ".\nAfter a change, `warder run` refuses it until it is trusted again.\n";
    return 0;
  } catch (const std::runtime_error& error) {
    std::cerr << "warder: " << error.what() << '\n';
    return 2;
  }
}

bool is_trusted(const std::filesystem::path& file, std::string_view bytes) {
  try {
    return TrustStore(state_directory()).is_trusted(file, bytes);
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace warder
