// The clones that `warder run --clone` left: where they lie, whose they are, and their end.
#pragma once

#include <time.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "protect/watched_tree.hpp"

namespace warder {

struct Clone {
  std::string id;                   // of the run
  std::filesystem::path directory;  // state_directory()/clones/ID: upper, work, meta.json
  std::filesystem::path workspace;  // that it is a clone of
  timespec started{};               // what the host changed after that, it changed beside the run
  std::string program;              // the command's first word

  std::filesystem::path upper() const;
  std::filesystem::path names() const;     // KnownNames of the workspace (clone_names.hpp)
  std::filesystem::path watched() const;   // WatchedTrees of its run
  std::filesystem::path applying() const;  // is there once an apply has begun
};

std::filesystem::path clones_directory();

// Makes its directories. Throws ConfigError where the state lies in the workspace itself.
Clone make_clone(const std::string& id, const std::filesystem::path& workspace,
                 const std::string& program);

// Before the sandbox begins: what programs outside run or believe where nothing is. Throws std::runtime_error.
void write_watched(const std::filesystem::path& clone, const std::vector<WatchedTree>& trees);
// Those of the workspace, relative to it, with the links that lead to such places.
std::vector<std::filesystem::path> watched_places(const Clone& clone);

// Of all working directories, oldest first. What is no clone, or was discarded half, is not among them.
std::vector<Clone> kept_clones();
// By its id or the first characters of it; without one the newest of `workspace`. Throws ConfigError.
Clone find_clone(const std::string& id, const std::filesystem::path& workspace);

// Nobody else reads, applies or discards it while this is held, and no run writes it. nullopt: somebody does.
std::optional<Fd> try_to_hold(const Clone& clone);
// Throws ConfigError.
Fd hold(const Clone& clone);

// Bytes on disk.
std::uint64_t size_of(const Clone& clone);
void discard(const Clone& clone);

}  // namespace warder
