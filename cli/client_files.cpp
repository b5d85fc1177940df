#include "cli/client_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/fd.hpp"
#include "certs/trust.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

std::string proxy_url(const ListenerConfig& listener) {
  const bool socks = listener.kind == ListenerConfig::Kind::socks5;
  // socks5h: the name goes to the proxy; with socks5 the client would look it up itself.
  const std::string scheme = socks ? "socks5h" : listener.tls ? "https" : "http";
  const std::string host = listener.tls && listener.tls->name ? listener.tls->name->uri_host()
                                                              : listener.host.uri_host();
  const std::string login = listener.token ? "warder:TOKEN@" : "";
  return scheme + "://" + login + host + ":" + std::to_string(listener.port);
}

[[noreturn]] void fail(const fs::path& path) {
  throw std::system_error(errno, std::generic_category(), "cannot write " + path.string());
}

Fd claim(const fs::path& directory) {
  fs::create_directories(directory.parent_path());
  const bool is_new = ::mkdir(directory.c_str(), 0700) == 0;
  Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened) fail(directory);
  struct stat info{};
  if (::fstat(opened.get(), &info) != 0) fail(directory);
  if (!is_new && (info.st_uid != ::geteuid() || (info.st_mode & 077) != 0)) {
    throw ConfigError("--directory " + directory.string() +
                      ": others can enter it, or it is somebody else's: name one of your own "
                      "(chmod 700), or one that is not there yet");
  }
  if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0)
    throw ConfigError("--directory " + directory.string() + ": another gateway uses it");
  return opened;
}

}  // namespace

ClientFiles::ClientFiles(fs::path directory, const CertificateAuthority& authority)
    : directory_(std::move(directory)), lock_(claim(directory_)) {
  const std::string ca = authority.pem();
  write_file("ca.pem", ca);
  const TrustTexts texts = trust_texts(system_bundle(), "", ca);
  write_file("bundle.pem", texts.bundle);
  write_file("java.p12", texts.java_store);
}

ClientFiles::~ClientFiles() {
  std::error_code ignored;
  for (const fs::path& file : files_) fs::remove(file, ignored);
}

fs::path ClientFiles::write_file(const std::string& name, const std::string& text) {
  const fs::path file = directory_ / name;
  std::error_code ignored;
  fs::remove(file, ignored);
  // Made anew, never through a link that somebody left there.
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) fail(file);
  files_.push_back(file);
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd.get(), rest.data(), rest.size());
    if (n < 0) fail(file);
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return file;
}

void ClientFiles::write(const ListenerConfig& listener,
                        const std::map<std::string, std::string>& placeholders) {
  std::map<std::string, std::string> env = placeholders;
  const std::string url = proxy_url(listener);
  if (listener.kind == ListenerConfig::Kind::socks5) {
    for (const char* name : {"ALL_PROXY", "all_proxy", "SOCKS_PROXY", "socks_proxy"})
      env[name] = url;
  } else {
    for (const char* name :
         {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "WSS_PROXY", "wss_proxy"})
      env[name] = url;
  }
  for (const char* name : {"NO_PROXY", "no_proxy"}) env[name] = "localhost,127.0.0.1,::1";
  env["NODE_USE_ENV_PROXY"] = "1";
  const std::string bundle = (directory_ / "bundle.pem").string();
  const std::string ca = (directory_ / "ca.pem").string();
  for (const auto& [name, value] : trust_variables(bundle, ca)) env[name] = value;
  env["JAVA_TOOL_OPTIONS"] = java_options("", (directory_ / "java.p12").string());
  std::string text;
  for (const auto& [name, value] : env) text += name + "=" + value + "\n";
  write_file(listener.name + ".env", text);
}

}  // namespace warder
