// The configuration that end-to-end tests use, and a directory that goes away.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace warder::test {

inline constexpr const char* kContract = R"(version: 1
secrets:
  tok: {source: {env: REAL_TOKEN}, placeholder: {env: API_TOKEN}}
policies:
  t:
    rules:
      - {name: api, hosts: [api.test], methods: [GET, POST, PUT, HEAD], paths: ["/**"], action: allow}
      - {name: other, hosts: [other.test], action: allow}
    grants:
      - {secret: tok, hosts: [api.test], at: [header:authorization, basic]}
gateway:
  audit: {file: audit/audit.jsonl}                      # a directory of its own (0700), covered inside
  upstream:
    ca: [test-ca.pem]
    connect_to: {"api.test:443": "127.0.0.1:8443"}
)";

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "warder-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = std::filesystem::canonical(name);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace warder::test
