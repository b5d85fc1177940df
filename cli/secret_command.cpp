#include "cli/secret_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/clock.hpp"
#include "cli/guard.hpp"
#include "cli/harden.hpp"
#include "cli/store_access.hpp"
#include "secrets/placeholder.hpp"
#include "secrets/source_file.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLockLimit{10'000};

// The command line was wrong, or the store has it otherwise: exit code 2. Anything else: 125.
template <class Command>
int told(Command command) {
  try {
    harden_process();
    command();
    return 0;
  } catch (const ConfigError& error) {
    say(error.what());
    return 2;
  } catch (const std::exception& error) {
    say(std::string(error.what()) + "; nothing was changed");
    return 125;
  }
}

fs::path store_of(const SecretArgs& args) {
  return args.store.empty() ? default_store_file() : fs::absolute(args.store);
}

void check_name(const SecretArgs& args) {
  if (!args.surplus.empty()) {
    throw ConfigError(
        "a value on the command line is seen by every process of this machine and kept by the "
        "shell: take it as known to others. Give the new one on standard input, or type it when "
        "asked");
  }
  // What is no name may be a value, so it is not quoted.
  if (!is_store_name(args.name))
    throw ConfigError("the name may have letters, digits, '-' and '_' only, up to 64");
}

WipedBytes value_for(const std::string& name) {
  WipedBytes value;
  if (::isatty(STDIN_FILENO) == 1) {
    value = ask_terminal("Value of " + name + ": ");
  } else {
    value.resize(kMaxSecretBytes + 3);
    if (read_up_to(STDIN_FILENO, value) != 0)
      throw std::runtime_error("standard input cannot be read");
    value.resize(without_line_break(as_view(value)).size());
  }
  if (const auto why = refuse_value(as_view(value))) throw ConfigError("the value " + *why);
  return value;
}

std::int64_t seconds_now() {
  const auto now = SystemClock().now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::string shown_time(std::int64_t seconds) {
  const std::string whole =
      rfc3339(std::chrono::system_clock::time_point(std::chrono::seconds(seconds)));
  return whole.substr(0, whole.find('.')) + "Z";
}

using Entries = std::vector<StoreEntry>;

Entries::iterator place_of(Entries& entries, const std::string& name) {
  return std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const StoreEntry& entry, const std::string& wanted) { return entry.name < wanted; });
}

// The store as it is, and the key that opened it; for one that is not there yet, empty and with a key for it.
struct Open {
  StoreHeader header;
  Entries entries;
  std::optional<SecretValue> key;
};

Open open_for_change(const fs::path& file, const SecretArgs& args) {
  Open open;
  if (!fs::exists(file)) {
    SystemRandom random;
    open.header = new_store_header(
        args.passphrase ? StoreHeader::Kind::passphrase : StoreHeader::Kind::key, random);
    open.key.emplace(as_view(key_for_new_store(file, open.header)));
    return open;
  }
  const auto reader = open_store_at(file, Asking::yes);
  auto opened = reader->open();
  if (const auto* problem = std::get_if<std::string>(&opened)) throw std::runtime_error(*problem);
  auto& found = std::get<StoreReader::Opened>(opened);
  if (args.passphrase && found.header.kind == StoreHeader::Kind::key)
    throw ConfigError(
        "the store is there already, and opens with a key: --passphrase is for a new one");
  open.header = std::move(found.header);
  open.entries = std::move(found.entries);
  reader->key()->reveal([&](std::string_view key) { open.key.emplace(key); });
  return open;
}

// One change, whole or not at all, by one writer at a time. `change` throws what is wrong with it.
template <class How>
void change_store(const SecretArgs& args, How change) {
  const fs::path file = store_of(args);
  const StoreLock lock(file, kLockLimit);
  Open open = open_for_change(file, args);
  change(open.entries);
  SystemRandom random;
  const std::string bytes = open.key->reveal(
      [&](std::string_view key) { return seal_store(open.header, open.entries, key, random); });
  replace_store_file(file, bytes);
}

[[noreturn]] void no_such_entry(const std::string& name) {
  throw ConfigError("the store has no " + name + ": warder secret list shows what it has");
}

void put(const StoreEntry& entry, std::string_view how) {
  std::cout << entry.name << ": " << how << ", version " << entry.version << "\n";
}

void print_list(const Entries& entries) {
  if (entries.empty()) std::cout << "no secrets\n";
  for (const StoreEntry& entry : entries) {
    std::cout << entry.name << "  version " << entry.version << "  made " << shown_time(entry.made)
              << "  changed " << shown_time(entry.changed) << "\n";
  }
}

// Names and times need no escaping.
void print_json(const Entries& entries) {
  std::cout << "{\"secrets\":[";
  const char* comma = "";
  for (const StoreEntry& entry : entries) {
    std::cout << std::exchange(comma, ",") << "{\"name\":\"" << entry.name
              << "\",\"version\":" << entry.version << ",\"made\":\"" << shown_time(entry.made)
              << "\",\"changed\":\"" << shown_time(entry.changed) << "\"}";
  }
  std::cout << "]}\n";
}

}  // namespace

int secret_set_command(const SecretArgs& args) {
  return told([&] {
    check_name(args);
    WipedBytes value = value_for(args.name);
    change_store(args, [&](Entries& entries) {
      const auto at = place_of(entries, args.name);
      if (at != entries.end() && at->name == args.name)
        throw ConfigError("the store has " + args.name + " already: warder secret rotate " +
                          args.name);
      if (entries.size() >= kMostStoreEntries) throw ConfigError("the store is full: 1000 secrets");
      const std::int64_t now = seconds_now();
      entries.insert(at, {args.name, 1, now, now, std::move(value)});
    });
    put({args.name, 1, 0, 0, {}}, "set");
  });
}

int secret_rotate_command(const SecretArgs& args) {
  return told([&] {
    check_name(args);
    if (!fs::exists(store_of(args))) no_such_entry(args.name);
    WipedBytes value = value_for(args.name);
    std::uint32_t version = 0;
    change_store(args, [&](Entries& entries) {
      const auto at = place_of(entries, args.name);
      if (at == entries.end() || at->name != args.name) no_such_entry(args.name);
      version = ++at->version;
      at->changed = seconds_now();
      at->value = std::move(value);
    });
    put({args.name, version, 0, 0, {}}, "rotated");
  });
}

int secret_list_command(const SecretArgs& args) {
  return told([&] {
    const fs::path file = store_of(args);
    Entries entries;
    if (fs::exists(file)) {
      auto opened = open_store_at(file, Asking::yes)->open();
      if (const auto* problem = std::get_if<std::string>(&opened))
        throw std::runtime_error(*problem);
      entries = std::move(std::get<StoreReader::Opened>(opened).entries);
    }
    args.json == Json::yes ? print_json(entries) : print_list(entries);
  });
}

int secret_rm_command(const SecretArgs& args) {
  return told([&] {
    check_name(args);
    if (!fs::exists(store_of(args))) no_such_entry(args.name);
    change_store(args, [&](Entries& entries) {
      const auto at = place_of(entries, args.name);
      if (at == entries.end() || at->name != args.name) no_such_entry(args.name);
      entries.erase(at);
    });
    std::cout << args.name << ": removed; what uses it now is refused from here on\n";
  });
}

}  // namespace warder
