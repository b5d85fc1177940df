#include "secrets/sources.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "secrets/placeholder.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "warder-sources-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path file(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return path / name;
  }
  std::filesystem::path path;
};

// The value, or "refused: " and the sentence.
std::string outcome(const SourceResult& result) {
  if (const auto* why = std::get_if<std::string>(&result)) return "refused: " + *why;
  return std::get<SecretValue>(result).reveal(
      [](std::string_view view) { return std::string(view); });
}

bool refused(const SourceResult& result) { return std::holds_alternative<std::string>(result); }

}  // namespace

TEST_CASE("BR-009: one trailing line break of a secret file is taken off, and only one") {
  const Folder folder;
  CHECK(outcome(from_file(folder.file("plain", "abcdefgh"))) == "abcdefgh");
  CHECK(outcome(from_file(folder.file("lf", "abcdefgh\n"))) == "abcdefgh");
  CHECK(outcome(from_file(folder.file("crlf", "abcdefgh\r\n"))) == "abcdefgh");
  for (const char* bytes :
       {"abcdefgh\n\n", "abcdefgh\r", "abcdefgh\n\r\n", "abc\r\nX-Injected: 1", "\n", ""}) {
    CAPTURE(bytes);
    const std::string text = outcome(from_file(folder.file("bad", bytes)));
    CHECK(text.starts_with("refused: the value of the secret file " +
                           (folder.path / "bad").string()));
    CHECK(text.find("abc") == std::string::npos);
  }
  CHECK(refused(from_file(folder.file("nul", std::string("abcd\0efgh", 9)))));
}

TEST_CASE("a secret file must be a regular one of bounded size") {
  const Folder folder;
  const std::string most(kMaxSecretBytes, 'x');
  CHECK(outcome(from_file(folder.file("most", most + "\r\n"))) == most);
  CHECK(refused(from_file(folder.file("more", most + "x"))));
  CHECK(refused(from_file(folder.file("much more", most + most))));
  CHECK(refused(from_file(folder.path)));
  CHECK(outcome(from_file(folder.path / "none")).find("No such file") != std::string::npos);
  REQUIRE(::mkfifo((folder.path / "fifo").c_str(), 0600) == 0);
  CHECK(outcome(from_file(folder.path / "fifo")).find("not a regular file") != std::string::npos);
  CHECK(refused(from_file("/dev/zero")));
}

TEST_CASE("a secret file may be reached by a link, as mounted secrets are") {
  const Folder folder;
  std::filesystem::create_symlink(folder.file("..data", "abcdefgh\n"), folder.path / "token");
  CHECK(outcome(from_file(folder.path / "token")) == "abcdefgh");
}

TEST_CASE("an environment variable is taken as it is") {
  CHECK(outcome(from_env("TOKEN", "abcdefgh")) == "abcdefgh");
  CHECK(outcome(from_env("TOKEN", "abcdefgh\n"))
            .find("the environment variable TOKEN holds a control") != std::string::npos);
  CHECK(outcome(from_env("TOKEN", "")).find("is empty") != std::string::npos);
}
