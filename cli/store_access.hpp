// The built-in store on this machine: where it is, and where its key comes from.
#pragma once

#include <filesystem>
#include <memory>

#include "secrets/source_store.hpp"
#include "secrets/wiped.hpp"

namespace warder {

std::filesystem::path default_store_file();  // state_directory()/secrets
std::filesystem::path store_key_file(const std::filesystem::path& store);  // FILE.key

// May a passphrase be asked for on the terminal?
enum class Asking : bool { no, yes };

// In the order of the store's header: a key from systemd ($CREDENTIALS_DIRECTORY/warder-store-key), else from FILE.key; or
// a passphrase, from the file that $WARDER_STORE_PASSPHRASE_FILE names, else from the terminal. The first key is had while
// `asking` counts; later ones, for a store that was made anew, are never asked for.
std::shared_ptr<StoreReader> open_store_at(const std::filesystem::path& file, Asking asking);

// The key for a new store: of kind key it is made if there is none. Throws std::runtime_error.
WipedBytes key_for_new_store(const std::filesystem::path& file, const StoreHeader& header);

// One line without echo, from the terminal. Throws std::runtime_error when there is none.
WipedBytes ask_terminal(const std::string& prompt);

}  // namespace warder
