#include "cli/clone_store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>
#include <tuple>

#include "cli/clone_names.hpp"
#include "cli/guard.hpp"
#include "cli/state.hpp"
#include "cli/terminal_text.hpp"
#include "cli/tree.hpp"
#include "sandbox-launcher/overlay.hpp"
#include "sandbox-launcher/view_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kMeta = "meta.json";
constexpr const char* kWatched = "watched.json";
constexpr const char* kGone = "gone-";  // before the id of what is being discarded

fs::path real(const fs::path& path) {
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(path, error);
  return tidy(error ? path : resolved);
}

void write_meta(const Clone& clone) {
  const json::object meta{
      {"version", 1},
      {"workspace", clone.workspace.string()},
      {"started", {{"seconds", clone.started.tv_sec}, {"nanoseconds", clone.started.tv_nsec}}},
      {"program", clone.program}};
  std::ofstream file(clone.directory / kMeta, std::ios::binary);
  file << json::serialize(meta) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + (clone.directory / kMeta).string());
}

std::optional<Clone> read_clone(const fs::path& directory) {
  std::ifstream file(directory / kMeta, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text(std::istreambuf_iterator<char>(file), {});
  json::parse_options bytes;  // names of files are bytes
  bytes.allow_invalid_utf8 = true;
  try {
    const json::value parsed = json::parse(text, {}, bytes);
    const json::object& meta = parsed.as_object();
    if (meta.at("version").as_int64() != 1) return std::nullopt;
    Clone clone;
    clone.id = directory.filename();
    clone.directory = directory;
    clone.workspace = std::string(meta.at("workspace").as_string());
    clone.program = std::string(meta.at("program").as_string());
    clone.started.tv_sec = meta.at("started").at("seconds").as_int64();
    clone.started.tv_nsec = meta.at("started").at("nanoseconds").as_int64();
    return clone;
  } catch (const std::exception&) {
    return std::nullopt;  // a run that was killed while it wrote this: nothing had begun
  }
}

Fd open_clones() {
  Fd clones(::open(clones_directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!clones) throw TreeError("cannot be opened", clones_directory(), errno);
  return clones;
}

// An interrupted discard is finished by whoever comes next.
void remove_gone() {
  std::vector<std::string> gone;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(clones_directory(), error)) {
    if (entry.path().filename().string().starts_with(kGone))
      gone.push_back(entry.path().filename());
  }
  if (gone.empty()) return;
  const Fd clones = open_clones();
  for (const std::string& name : gone) remove_tree(clones, name);
}

}  // namespace

fs::path Clone::upper() const { return directory / kUpperName; }

fs::path Clone::names() const { return directory / "names"; }
fs::path Clone::watched() const { return directory / kWatched; }
fs::path Clone::applying() const { return directory / "applying"; }

fs::path clones_directory() { return state_directory() / "clones"; }

Clone make_clone(const std::string& id, const fs::path& workspace, const std::string& program) {
  Clone clone;
  clone.id = id;
  clone.workspace = real(workspace);
  clone.program = program;
  clone.directory = real(clones_directory()) / id;
  if (within(clone.directory, clone.workspace)) {
    throw ConfigError("the state directory " + state_directory().string() +
                      " lies in the workspace, which cannot be cloned into itself: set "
                      "XDG_STATE_HOME to a directory elsewhere");
  }
  make_state_directories();
  make_private_directory(clones_directory());
  remove_gone();
  make_private_directory(clone.directory);
  for (const char* name : {kUpperName, kWorkName}) {
    if (::mkdir((clone.directory / name).c_str(), 0700) != 0)
      throw TreeError("cannot be made", clone.directory / name, errno);
  }
  // The clock that files are stamped by: what changes from now on has this time or a later one.
  ::clock_gettime(CLOCK_REALTIME_COARSE, &clone.started);
  KnownNames::below(clone.workspace).write(clone.names());
  write_meta(clone);
  return clone;
}

void write_watched(const fs::path& clone, const std::vector<WatchedTree>& trees) {
  std::ofstream file(clone / kWatched, std::ios::binary);
  file << to_json(trees);
  if (!file.flush()) throw std::runtime_error("cannot write " + (clone / kWatched).string());
}

std::vector<fs::path> watched_places(const Clone& clone) {
  std::vector<fs::path> places;
  std::ifstream file(clone.watched(), std::ios::binary);
  if (!file) return places;  // the run was refused before it began
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for (const WatchedTree& tree : watched_from_json(text)) {
    if (tree.root != clone.workspace) continue;
    places.insert(places.end(), tree.absent.begin(), tree.absent.end());
    for (const auto& [at, target] : tree.links) places.push_back(at);
  }
  return places;
}

std::vector<Clone> kept_clones() {
  std::vector<Clone> clones;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(clones_directory(), error)) {
    if (entry.path().filename().string().starts_with(kGone)) continue;
    if (auto clone = read_clone(entry.path())) clones.push_back(std::move(*clone));
  }
  const auto older = [](const Clone& one, const Clone& other) {
    const auto key = [](const Clone& of) {
      return std::tie(of.started.tv_sec, of.started.tv_nsec, of.id);
    };
    return key(one) < key(other);
  };
  std::sort(clones.begin(), clones.end(), older);
  return clones;
}

Clone find_clone(const std::string& id, const fs::path& workspace) {
  std::vector<Clone> clones = kept_clones();
  const fs::path here = real(workspace);
  std::erase_if(clones, [&](const Clone& clone) {
    return id.empty() ? clone.workspace != here : !clone.id.starts_with(id);
  });
  if (id.empty() && !clones.empty()) return clones.back();
  const auto is_it = [&](const Clone& clone) { return clone.id == id; };
  const auto exact = std::find_if(clones.begin(), clones.end(), is_it);
  if (exact != clones.end()) return *exact;
  if (clones.size() == 1) return clones.front();
  if (clones.empty()) {
    throw ConfigError(id.empty() ? "no clone of " + printable(here.string()) +
                                       " is kept: warder run --clone makes one, warder diff --list "
                                       "shows those of other directories"
                                 : "no clone " + printable(id) +
                                       " is kept: warder diff --list shows those that are");
  }
  throw ConfigError("several clones begin with " + printable(id) + ": warder diff --list");
}

std::optional<Fd> try_to_hold(const Clone& clone) {
  Fd held(::open(clone.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!held) throw TreeError("cannot be opened", clone.directory, errno);
  if (::flock(held.get(), LOCK_EX | LOCK_NB) == 0) return held;
  if (errno == EWOULDBLOCK) return std::nullopt;
  throw TreeError("cannot be locked", clone.directory, errno);
}

Fd hold(const Clone& clone) {
  auto held = try_to_hold(clone);
  if (held) return std::move(*held);
  throw ConfigError("clone " + clone.id +
                    " is in use: its run goes on, or another warder diff, apply or discard");
}

std::uint64_t size_of(const Clone& clone) {
  std::uint64_t size = 0;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(clone.upper(), options, error), end;
       !error && entry != end; entry.increment(error)) {
    struct stat what{};
    if (::lstat(entry->path().c_str(), &what) == 0)
      size += static_cast<std::uint64_t>(what.st_blocks) * 512;
  }
  return size;
}

void discard(const Clone& clone) {
  const Fd clones = open_clones();
  const std::string gone = kGone + clone.id;
  if (::renameat(clones.get(), clone.id.c_str(), clones.get(), gone.c_str()) != 0)
    throw TreeError("cannot be removed", clone.directory, errno);
  remove_tree(clones, gone);
}

}  // namespace warder
