#include "secrets/source_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "secrets/placeholder.hpp"
#include "secrets/source_env.hpp"
#include "tests/secrets/folder.hpp"

using namespace warder;
using namespace warder::test;

namespace {

Reading from_file(const std::filesystem::path& path) { return file_source(path)->read({}); }

// As many looks as it takes to be sure of a change.
bool sees_a_change(SecretSource& source) {
  const bool first = source.looks_changed();
  return source.looks_changed() || first;
}

void replace(const std::filesystem::path& file, const std::string& bytes) {
  const auto draft = file.string() + ".draft";
  std::ofstream(draft, std::ios::binary) << bytes;
  std::filesystem::rename(draft, file);
}

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
    CHECK(text.starts_with("failing: the value of the secret file " +
                           (folder.path / "bad").string()));
    CHECK(text.find("abc") == std::string::npos);
  }
  CHECK(fails(from_file(folder.file("nul", std::string("abcd\0efgh", 9)))));
}

TEST_CASE("a secret file must be a regular one of bounded size") {
  const Folder folder;
  const std::string most(kMaxSecretBytes, 'x');
  CHECK(outcome(from_file(folder.file("most", most + "\r\n"))) == most);
  CHECK(fails(from_file(folder.file("more", most + "x"))));
  CHECK(fails(from_file(folder.file("much more", most + most))));
  CHECK(fails(from_file(folder.path)));
  REQUIRE(::mkfifo((folder.path / "fifo").c_str(), 0600) == 0);
  CHECK(outcome(from_file(folder.path / "fifo")).find("not a regular file") != std::string::npos);
  CHECK(fails(from_file("/dev/zero")));
}

TEST_CASE("a secret file that is not there is gone, one that cannot be read is not") {
  const Folder folder;
  const Reading gone = from_file(folder.path / "none");
  CHECK(gone.state == Reading::State::gone);
  CHECK(gone.grace == kFileGrace);
  CHECK(gone.problem.find("No such file") != std::string::npos);
  CHECK(from_file(folder.file("plain", "abcdefgh") / "below").state == Reading::State::gone);
  std::filesystem::create_symlink("loop", folder.path / "loop");
  CHECK(fails(from_file(folder.path / "loop")));
}

TEST_CASE("a secret file may be reached by a link, as mounted secrets are") {
  const Folder folder;
  std::filesystem::create_symlink(folder.file("..data", "abcdefgh\n"), folder.path / "token");
  CHECK(outcome(from_file(folder.path / "token")) == "abcdefgh");
}

TEST_CASE("a file is looked at: replaced, rewritten, removed, made again") {
  const Folder folder;
  const auto path = folder.file("token", "value-one");
  const auto source = file_source(path);
  CHECK(outcome(source->read({})) == "value-one");
  CHECK_FALSE(sees_a_change(*source));

  replace(path, "value-two");
  CHECK(sees_a_change(*source));
  CHECK(outcome(source->read({})) == "value-two");
  CHECK_FALSE(sees_a_change(*source));

  folder.file("token", "value-three");
  CHECK(sees_a_change(*source));
  CHECK(outcome(source->read({})) == "value-three");

  std::filesystem::remove(path);
  CHECK(sees_a_change(*source));
  CHECK(source->read({}).state == Reading::State::gone);
  CHECK_FALSE(sees_a_change(*source));

  folder.file("token", "value-four");
  CHECK(sees_a_change(*source));
  CHECK(outcome(source->read({})) == "value-four");
}

TEST_CASE("a change counts once two looks saw the same file: half of one is not taken") {
  const Folder folder;
  const auto path = folder.file("token", "value-one");
  const auto source = file_source(path);
  REQUIRE(outcome(source->read({})) == "value-one");
  REQUIRE_FALSE(sees_a_change(*source));
  std::ofstream writer(path, std::ios::binary | std::ios::trunc);
  CHECK_FALSE(source->looks_changed());  // empty
  writer << "half-of-" << std::flush;
  CHECK_FALSE(source->looks_changed());
  writer << "value-two" << std::flush;
  CHECK_FALSE(source->looks_changed());
  CHECK(source->looks_changed());
  CHECK(outcome(source->read({})) == "half-of-value-two");
}

TEST_CASE("a link that is switched to another directory is another file, as Kubernetes does it") {
  const Folder folder;
  namespace fs = std::filesystem;
  for (const char* name : {"..one", "..two"}) {
    fs::create_directory(folder.path / name);
    std::ofstream(folder.path / name / "token") << "value" << name << "\n";
  }
  fs::create_symlink("..one", folder.path / "..data");
  fs::create_symlink("..data/token", folder.path / "token");
  const auto source = file_source(folder.path / "token");
  CHECK(outcome(source->read({})) == "value..one");
  CHECK_FALSE(sees_a_change(*source));
  fs::create_symlink("..two", folder.path / "..data_tmp");
  fs::rename(folder.path / "..data_tmp", folder.path / "..data");
  CHECK(sees_a_change(*source));
  CHECK(outcome(source->read({})) == "value..two");
}

TEST_CASE("a file that fails for its mode is tried again, and taken when it is mended") {
  if (::geteuid() == 0) return;  // root reads anything
  const Folder folder;
  const auto path = folder.file("token", "abcdefgh");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  const auto source = file_source(path);
  CHECK(fails(source->read({})));
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  CHECK(sees_a_change(*source));
  CHECK(outcome(source->read({})) == "abcdefgh");
}

TEST_CASE("an environment variable is taken as it is") {
  CHECK(outcome(env_source("TOKEN", "abcdefgh")->read({})) == "abcdefgh");
  CHECK(outcome(env_source("TOKEN", "abcdefgh\n")->read({}))
            .find("the environment variable TOKEN holds a control") != std::string::npos);
  CHECK(outcome(env_source("TOKEN", "")->read({})).find("is empty") != std::string::npos);
  CHECK(outcome(env_source("TOKEN", nullptr)->read({})) ==
        "failing: the variable TOKEN is not set");
  CHECK_FALSE(env_source("TOKEN", "abcdefgh")->looks_changed());
}
