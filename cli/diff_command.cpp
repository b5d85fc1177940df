#include "cli/diff_command.hpp"

#include <fcntl.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <ctime>

#include "base/encoding.hpp"
#include "cli/clone_changes.hpp"
#include "cli/guard.hpp"
#include "cli/json_string.hpp"
#include "cli/terminal_text.hpp"
#include "cli/text_diff.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

void print(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

std::string octal(mode_t mode) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04o", mode);
  return text.data();
}

std::string amount(std::uint64_t count, const char* unit) {
  return std::to_string(count) + " " + unit + (count == 1 ? "" : "s");
}

std::string of_size(std::uint64_t bytes) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", size, kUnits[unit]);
  return text.data();
}

std::string age(std::int64_t seconds) {
  if (seconds < 120)
    return amount(static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0)), "second");
  if (seconds < 2 * 3600) return amount(static_cast<std::uint64_t>(seconds / 60), "minute");
  if (seconds < 2 * 86400) return amount(static_cast<std::uint64_t>(seconds / 3600), "hour");
  return amount(static_cast<std::uint64_t>(seconds / 86400), "day");
}

// "modified  src/main.c", and what else is to be known of it.
std::string head_of(const Change& change) {
  std::string line(to_string(change.kind));
  line.resize(10, ' ');
  line += printable(change.path.string());
  if (change.was == EntryType::directory || change.is == EntryType::directory) {
    const EntryType shown = change.is == EntryType::none ? change.was : change.is;
    if (shown == EntryType::directory) line += '/';
  }
  std::string notes;
  const auto note = [&](const std::string& text) { notes += (notes.empty() ? "" : "; ") + text; };
  if (!change.runs_later.empty()) note(change.runs_later);
  if (change.kind == ChangeKind::type)
    note(std::string(to_string(change.was)) + " becomes " + std::string(to_string(change.is)));
  if (change.kind == ChangeKind::special)
    note("a device, socket, FIFO or too long a path: never applied");
  const bool both = change.was != EntryType::none && change.is != EntryType::none;
  if (both && change.is != EntryType::symlink && change.was == change.is &&
      change.old_mode != change.new_mode)
    note("mode " + octal(change.old_mode) + " becomes " + octal(change.new_mode));
  if (change.set_id) note("its set-id bits are not applied");
  if (change.host_changed) note("changed outside since");
  return notes.empty() ? line : line + "  (" + notes + ")";
}

// By its letters: what it leads to may be a link itself.
bool leads_out(const fs::path& link, const fs::path& target) {
  const fs::path end = (link.parent_path() / target).lexically_normal();
  return target.is_absolute() || (!end.empty() && *end.begin() == "..");
}

class TextDiff {
 public:
  explicit TextDiff(const CloneTrees& trees) : trees_(trees) {}

  void show(const Change& change) const {
    print(head_of(change));
    if (change.is == EntryType::symlink) {
      if (change.was == EntryType::symlink)
        print("-> " + printable(trees_.host.link_target(change.path)) + "  (before)");
      const fs::path target = trees_.upper.link_target(change.path);
      print("-> " + printable(target.string()) +
            (leads_out(change.path, target) ? "  (leads out of the workspace)" : ""));
      return;
    }
    if (change.is == EntryType::file && change.kind != ChangeKind::mode) show_file(change);
  }

 private:
  void show_file(const Change& change) const {
    const Fd after = trees_.upper.open_file(change.path);
    if (!can_show(after, change.new_size)) return;
    if (change.was != EntryType::file) {
      all_lines(after, '+', print);
      return;
    }
    Fd before;
    try {
      before = trees_.host.open_file(change.path);
    } catch (const TreeError& error) {
      print(error.what());
      return;
    }
    if (can_show(before, change.old_size)) differing_lines(before, after, print);
  }

  static bool can_show(const Fd& file, std::uint64_t size) {
    const Showable how = showable(file);
    if (how == Showable::binary) print("binary, " + of_size(size));
    if (how == Showable::too_large) print("too large to be shown, " + of_size(size));
    return how == Showable::text;
  }

  const CloneTrees& trees_;
};

bool in_repository(const Change& change) {
  for (const fs::path& part : change.path) {
    if (part == ".git") return true;
  }
  return false;
}

void print_text(const std::vector<Change>& changes, const CloneTrees& trees, DiffArgs::Show show) {
  const TextDiff text(trees);
  const auto section = [&](const char* title, bool with_contents, const auto& holds) {
    bool first = true;
    for (const Change& change : changes) {
      if (!holds(change)) continue;
      if (first) print(title);
      first = false;
      if (with_contents && show == DiffArgs::Show::text)
        text.show(change);
      else
        print(head_of(change));
    }
    if (!first) print("");
  };
  const auto later = [](const Change& change) { return !change.runs_later.empty(); };
  section("== runs code later, without anybody asking for it: not applied unless named", true,
          later);
  section("== files", true,
          [&](const Change& change) { return !later(change) && !in_repository(change); });
  section("== git's own files", false,
          [&](const Change& change) { return !later(change) && in_repository(change); });
}

json::object json_of(const Change& change) {
  json::object out{{"path", json_string(change.path.string())},
                   {"kind", std::string(to_string(change.kind))},
                   {"was", std::string(to_string(change.was))},
                   {"is", std::string(to_string(change.is))},
                   {"old_mode", octal(change.old_mode)},
                   {"new_mode", octal(change.new_mode)},
                   {"old_size", change.old_size},
                   {"new_size", change.new_size},
                   {"set_id", change.set_id},
                   {"host_changed", change.host_changed}};
  // A name that is no UTF-8 cannot be a JSON string, and two of them must not look the same.
  const std::string& bytes = change.path.native();
  if (json_string(bytes) != bytes)
    out["path_hex"] =
        hex_encode({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  if (change.runs_later.empty())
    out["runs_later"] = nullptr;
  else
    out["runs_later"] = change.runs_later;
  return out;
}

void print_json(const Clone& clone, const std::vector<Change>& changes) {
  json::array list;
  for (const Change& change : changes) list.push_back(json_of(change));
  print(json::serialize(json::object{{"id", clone.id},
                                     {"workspace", json_string(clone.workspace.string())},
                                     {"changes", std::move(list)}}));
}

void list_clones(Json as_json) {
  json::array all;
  const std::int64_t now = ::time(nullptr);
  for (const Clone& clone : kept_clones()) {
    const std::int64_t seconds = now - clone.started.tv_sec;
    const std::uint64_t bytes = size_of(clone);
    const bool running = !try_to_hold(clone);
    if (as_json == Json::yes) {
      all.push_back(json::object{{"id", clone.id},
                                 {"workspace", json_string(clone.workspace.string())},
                                 {"program", json_string(clone.program)},
                                 {"age_seconds", seconds},
                                 {"bytes", bytes},
                                 {"in_use", running}});
      continue;
    }
    print(clone.id + "  " + age(seconds) + " old, " + of_size(bytes) + "  " +
          printable(clone.workspace.string()) + "  " + printable(clone.program) +
          (running ? "  (in use)" : ""));
  }
  if (as_json == Json::yes) print(json::serialize(json::object{{"clones", std::move(all)}}));
}

}  // namespace

int diff_command(const DiffArgs& args) {
  return guarded([&] {
    if (args.list) {
      list_clones(args.json);
      return 0;
    }
    const Clone clone = find_clone(args.id, fs::current_path());
    const Fd held = hold(clone);
    const CloneTrees trees(clone);
    const std::vector<Change> changes = changes_of(clone, trees);
    if (args.json == Json::yes) {
      print_json(clone, changes);
    } else if (args.show == DiffArgs::Show::names) {
      for (const Change& change : changes) print(printable(change.path.string()));
    } else {
      print_text(changes, trees, args.show);
      if (args.show == DiffArgs::Show::stat) print(count_of(changes) + " changed");
    }
    return std::fflush(stdout) == 0 ? 0 : 125;
  });
}

}  // namespace warder
