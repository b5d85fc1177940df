// Where Warder keeps what outlives a run: the log key, audit files, pinned configurations.
#pragma once

#include <filesystem>
#include <string>

namespace warder {

// $XDG_STATE_HOME/warder, else ~/.local/state/warder. Throws std::runtime_error when neither variable is usable.
std::filesystem::path state_directory();

std::filesystem::path audit_key_file();  // state_directory()/audit.key
std::filesystem::path
audit_directory();  // state_directory()/audit: one file per run, unless the configuration names one

// $XDG_RUNTIME_DIR/warder where there is such a directory, else state_directory()/run: the sockets of gateways that run.
// What is here is covered in every sandbox.
std::filesystem::path runtime_directory();
// runtime_directory()/runs: a directory with a socket for each `warder run` that may ask for approval.
std::filesystem::path runs_directory();
// Makes `directory` (0700), and those above it. Throws std::runtime_error where others may enter one that was there.
void make_private_directory(const std::filesystem::path& directory);

// Makes both directories (0700) when they are missing.
void make_state_directories();

// "20261129T205601Z-3f9c2a": sorts by time, and no two runs share one.
std::string new_run_id();

}  // namespace warder
