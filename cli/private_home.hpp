// What of the caller's home a profile shows in the sandbox's own: copies that are thrown away, and trees of the host.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "config/profile.hpp"
#include "sandbox-launcher/spawn.hpp"
#include "secrets/session_secrets.hpp"

namespace warder {

struct PrivateHomeSpec {
  std::vector<HomePlace> places;
  std::filesystem::path home;       // the caller's; empty: nothing of it is shown
  std::filesystem::path workspace;  // absolute; its name stands for "${workspace}" in a place
  // Directories and files that the sandbox must not see or change, whatever a place says.
  std::vector<std::filesystem::path> withheld;
};

class PrivateHome {
 public:
  static constexpr std::size_t kMostBytes = 64U << 20;
  static constexpr std::size_t kMostEntries = 10'000;
  static constexpr int kDeepest = 16;

  // Of what is shown read-only and looked through.
  static constexpr std::size_t kMostSeenBytes = 256U << 20;
  static constexpr std::size_t kMostSeenEntries = 50'000;
  static constexpr std::size_t kMostCovered = 64;

  // Copies, within these bounds, what is to be copied. A place that is not there is left out; so is, with a line in
  // notes(), one that is reached through a link, or too large to be looked through, and a file that holds a value of
  // `secrets` or what is a credential by its form (read-only: it is shown empty). Throws ConfigError.
  PrivateHome(const PrivateHomeSpec& spec, const std::string& run, const SessionSecrets& secrets);
  PrivateHome(const PrivateHome&) = delete;
  PrivateHome& operator=(const PrivateHome&) = delete;
  ~PrivateHome();  // the copies are gone

  const std::vector<HomeTree>& trees() const { return trees_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  class Copier;
  class Looker;
  void make_stage(const std::string& run);
  void show(const PrivateHomeSpec& spec, const HomePlace& place, Copier& copier, Looker& looker);
  void mount(const std::filesystem::path& at, const std::filesystem::path& source,
             HomeTree::Access access);

  std::filesystem::path stage_;  // empty: nothing was copied
  Fd lock_;                      // held as long as the stage is used
  std::vector<HomeTree> trees_;
  std::vector<std::string> notes_;
};

}  // namespace warder
