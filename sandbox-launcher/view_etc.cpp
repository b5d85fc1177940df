// "The user can read it" is no test of what may be seen: in a user namespace of our own supplementary groups still open
// what the group may read (adm, shadow, docker). The mode's bits for others are the test.
#include "sandbox-launcher/view_etc.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <span>
#include <string_view>
#include <vector>

#include "sandbox-launcher/browser_policies.hpp"
#include "sandbox-launcher/view_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostEntries = 20'000;  // of one directory of /etc; beyond, it is left out
constexpr std::size_t kMostHidden = 200;
constexpr int kDeepest = 16;
constexpr std::size_t kMostCertificates = 1'000;

// Made by us, or nobody's business: the host's users, and an identifier of the machine.
constexpr std::array kNotFromHost{"hosts",   "hostname", "resolv.conf", "nsswitch.conf", "passwd",
                                  "passwd-", "group",    "group-",      "machine-id",    "ssl"};

// Policies of browsers, which read neither the system's bundle nor a variable. Directories that are made anew here, with
// what the host has in them and a file of ours; a directory that is a link on the host stays one.
constexpr std::array kRebuilt{
    "chromium",        "chromium/policies",   "chromium/policies/managed",   "opt",
    "opt/chrome",      "opt/chrome/policies", "opt/chrome/policies/managed", "firefox",
    "firefox/policies"};
constexpr std::array kChromiumPolicies{"chromium/policies/managed", "opt/chrome/policies/managed"};
constexpr const char* kFirefoxPolicies = "firefox/policies";

constexpr std::string_view kHosts = "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n";
// There is one user id, and no capability to change it.
constexpr std::string_view kApt = "APT::Sandbox::User \"root\";\n";
constexpr std::string_view kResolver = "nameserver 127.0.0.1\n";
// No service but files and DNS: each of the others (nscd, systemd-resolved, mDNS, LDAP) is a way around our resolver.
constexpr std::string_view kNameServices =
    "passwd: files\ngroup: files\nshadow: files\ngshadow: files\nhosts: files dns\nnetworks: "
    "files\n"
    "protocols: files\nservices: files\nethers: files\nrpc: files\nnetgroup: files\n";

// Where programs of other distributions look for trusted certificates.
constexpr std::array kBundles{"pki/tls/certs/ca-bundle.crt", "pki/tls/cert.pem",
                              "pki/tls/cacert.pem", "pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                              "ca-certificates/extracted/tls-ca-bundle.pem"};
constexpr std::array kJavaStores{"pki/java/cacerts", "pki/ca-trust/extracted/java/cacerts"};

enum class Kind : std::uint8_t { absent, hidden, link, file, directory };

// What `path` itself is (a link is not followed) and whether everybody may read it.
Kind kind_of(const fs::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return Kind::absent;
  if (S_ISLNK(status.st_mode)) return Kind::link;
  if (S_ISREG(status.st_mode)) return status.st_mode & S_IROTH ? Kind::file : Kind::hidden;
  constexpr mode_t kEnter = S_IROTH | S_IXOTH;
  if (S_ISDIR(status.st_mode) && (status.st_mode & kEnter) == kEnter) return Kind::directory;
  return Kind::hidden;
}

std::string text_of(const fs::path& path) {
  constexpr std::size_t kLargest = 1U << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargest, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

class EtcWriter {
 public:
  EtcWriter(ViewBuilder& view, const SandboxSpec& spec, const EtcPlan& plan)
      : view_(view), spec_(spec), plan_(plan) {}

  void write() {
    view_.directory("/etc");
    for (const fs::path& name : names_in(plan_.host_etc)) {
      const auto is = [&](const char* each) { return name == each; };
      if (std::none_of(kNotFromHost.begin(), kNotFromHost.end(), is)) add_entry(name);
    }
    add_names_and_users();
    add_trust();
    add_policies();
  }

 private:
  // Sorted, so that the same host gives the same view. Empty when it cannot be read.
  static std::vector<fs::path> names_in(const fs::path& directory) {
    std::set<fs::path> names;
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
      names.insert(entry->path().filename());
      if (names.size() > kMostEntries) return {};
    }
    return {names.begin(), names.end()};
  }

  // `name` is relative to /etc.
  void add_entry(const fs::path& name) {
    const fs::path from = plan_.host_etc / name;
    const fs::path at = "/etc" / name;
    switch (kind_of(from)) {
      case Kind::absent:
      case Kind::hidden: return;
      case Kind::link: return add_link(from, at);
      case Kind::file: return view_.bind_read_only_if_there(from, at);
      case Kind::directory: return is_rebuilt(name) ? rebuild(name) : add_directory(from, at);
    }
  }

  static bool is_rebuilt(const fs::path& name) {
    return std::find(kRebuilt.begin(), kRebuilt.end(), name) != kRebuilt.end();
  }

  void rebuild(const fs::path& name) {
    if (plan_.hidden.contains(plan_.host_etc / name)) return;
    make(name);
    for (const fs::path& each : names_in(plan_.host_etc / name)) {
      if (name / each != fs::path(kFirefoxPolicies) / "policies.json") add_entry(name / each);
    }
  }

  void make(const fs::path& name) {
    if (made_.insert(name).second) view_.directory("/etc" / name);
  }

  // Is `name` a directory of ours, so that a file can be made in it? It becomes one where the host has nothing.
  bool can_add_to(const fs::path& name) {
    if (made_.contains(name)) return true;
    const bool top = !name.has_parent_path();
    if (!top && !can_add_to(name.parent_path())) return false;
    if (kind_of(plan_.host_etc / name) == Kind::link) return false;
    make(name);
    return true;
  }

  void add_policies() {
    const std::string chromium = chromium_policy(spec_.added_pem);
    for (const char* place : kChromiumPolicies) {
      if (can_add_to(place)) view_.constant(chromium, "/etc" / fs::path(place) / "warder.json");
    }
    if (!can_add_to(kFirefoxPolicies)) return;
    const fs::path file = fs::path(kFirefoxPolicies) / "policies.json";
    std::string theirs;
    if (visible(plan_.host_etc / file)) theirs = text_of(plan_.host_etc / file);
    view_.constant(firefox_policies(theirs, kCaPath), "/etc" / file);
  }

  void add_link(const fs::path& from, const fs::path& at) {
    std::error_code error;
    const fs::path target = fs::read_symlink(from, error);
    if (!error) view_.symlink(target, at);
  }

  void add_directory(const fs::path& from, const fs::path& at) {
    if (plan_.hidden.contains(from)) return;
    std::vector<fs::path> hidden;
    std::size_t seen = 0;
    if (!find_hidden(from, hidden, seen, 0)) return;
    view_.bind_read_only(from, at);
    for (const fs::path& path : hidden) {
      const fs::path inside = at / path.lexically_relative(from);
      if (fs::is_directory(fs::symlink_status(path))) {
        view_.hide_directory(inside);
      } else {
        view_.hide_file(inside);
      }
    }
  }

  // Collects what below `directory` is not for everybody. False: too much, or not readable to the end.
  bool find_hidden(const fs::path& directory, std::vector<fs::path>& hidden, std::size_t& seen,
                   int depth) {
    if (depth > kDeepest) return false;
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
      if (++seen > kMostEntries || hidden.size() > kMostHidden) return false;
      const Kind kind = kind_of(entry->path());
      if (kind == Kind::hidden || plan_.hidden.contains(entry->path())) {
        hidden.push_back(entry->path());
      } else if (kind == Kind::directory && !find_hidden(entry->path(), hidden, seen, depth + 1)) {
        return false;
      }
    }
    return !error;
  }

  void add_names_and_users() {
    view_.constant(kHosts, "/etc/hosts");
    view_.constant("sandbox\n", "/etc/hostname");
    view_.constant(kResolver, "/etc/resolv.conf");
    view_.constant(kNameServices, "/etc/nsswitch.conf");

    constexpr uid_t kNobody = 65534;
    const std::string shell = fs::exists("/bin/bash") ? "/bin/bash" : "/bin/sh";
    const std::string uid = std::to_string(plan_.uid);
    const std::string gid = std::to_string(plan_.gid);
    const bool as_root = spec_.as_root == AsRoot::yes;
    std::string users = "root:x:0:0:root:/root:/usr/sbin/nologin\n";
    if (as_root) users = std::string("root:x:0:0:root:") + kHomePath + ":" + shell + "\n";
    std::string groups = "root:x:0:\n";
    if (plan_.uid != kNobody)
      users += "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
    if (plan_.gid != kNobody) groups += "nogroup:x:65534:\n";
    if (!as_root) {
      users += "sandbox:x:" + uid + ":" + gid + ":sandbox:" + kHomePath + ":" + shell + "\n";
      groups += "sandbox:x:" + gid + ":\n";
    } else {
      view_.constant(kApt, kAptPath);
    }
    view_.constant(users, "/etc/passwd");
    view_.constant(groups, "/etc/group");
  }

  void add_trust() {
    view_.directory("/etc/ssl");
    for (const fs::path& name : names_in(plan_.host_etc / "ssl")) {
      if (name == "certs" || name == "private") continue;
      if (name != "cert.pem" && name != "ca-bundle.pem") add_entry("ssl" / name);
    }
    // Places of Alpine, the BSDs and SUSE, where programs that were built elsewhere look.
    for (const char* name : {"cert.pem", "ca-bundle.pem"})
      view_.symlink("certs/ca-certificates.crt", fs::path("/etc/ssl") / name);
    add_certificates();
    add_java_store();
    if (kind_of(plan_.host_etc / "pki") == Kind::absent) link_pki();
    cover(kBundles, spec_.bundle_pem);
    cover(kJavaStores, spec_.java_store);
  }

  // As on Fedora, for a host that has nothing of it.
  void link_pki() {
    for (const char* name : {"pki", "pki/tls", "pki/tls/certs"}) make(name);
    view_.symlink(kBundlePath, "/etc/pki/tls/cert.pem");
    view_.symlink(kBundlePath, "/etc/pki/tls/certs/ca-bundle.crt");
  }

  // Debian's JDKs have links to this one.
  void add_java_store() {
    const fs::path place = fs::path(kJavaStorePath).parent_path();
    view_.directory(place);
    for (const fs::path& name : names_in(plan_.host_etc / "ssl/certs/java")) {
      if (place / name != kJavaStorePath) add_entry("ssl/certs/java" / name);
    }
    view_.constant(spec_.java_store, kJavaStorePath);
  }

  // Rebuilt and not bound: our certificates need names in it, and the host's directory is not ours to add them to.
  void add_certificates() {
    const fs::path from = plan_.host_etc / "ssl/certs";
    view_.directory("/etc/ssl/certs");
    view_.constant(spec_.bundle_pem, kBundlePath);
    view_.constant(spec_.added_pem, kCaPath);

    const std::vector<fs::path> names = names_in(from);
    const std::set<fs::path> taken(names.begin(), names.end());
    if (names.size() <= kMostCertificates) {
      for (const fs::path& name : names) {
        const fs::path at = "/etc/ssl/certs" / name;
        if (at != kBundlePath && at != kCaPath && name != "java") add_entry("ssl/certs" / name);
      }
    }
    // A hashed directory tells certificates with equal hashes apart by number, without gaps.
    int number = 0;
    while (taken.contains(spec_.ca_hash + "." + std::to_string(number))) ++number;
    view_.constant(spec_.ca_pem, "/etc/ssl/certs/" + spec_.ca_hash + "." + std::to_string(number));
  }

  // These lie in directories of the host that are shown as a whole: only what is there can be covered.
  void cover(std::span<const char* const> places, std::string_view text) {
    std::set<fs::path> done;
    for (const char* name : places) {
      std::error_code error;
      const fs::path real = fs::canonical(plan_.host_etc / name, error);
      if (error || !below(real, plan_.host_etc) || !fs::is_regular_file(real, error)) continue;
      if (within(real, plan_.host_etc / "ssl") || !visible(real) || !done.insert(real).second)
        continue;
      view_.constant(text, "/etc" / real.lexically_relative(plan_.host_etc));
    }
  }

  // Every directory on the way, and the file, are for everybody: nothing of it was hidden.
  bool visible(const fs::path& file) const {
    if (kind_of(file) != Kind::file) return false;
    for (fs::path at = file.parent_path(); at != plan_.host_etc; at = at.parent_path()) {
      if (kind_of(at) != Kind::directory || plan_.hidden.contains(at)) return false;
    }
    return true;
  }

  ViewBuilder& view_;
  const SandboxSpec& spec_;
  const EtcPlan& plan_;
  std::set<fs::path> made_;  // directories of ours, relative to /etc
};

}  // namespace

void add_etc(ViewBuilder& view, const SandboxSpec& spec, const EtcPlan& plan) {
  EtcWriter(view, spec, plan).write();
}

}  // namespace warder
