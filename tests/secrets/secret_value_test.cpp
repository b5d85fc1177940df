#include "secrets/secret_value.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <system_error>
#include <type_traits>
#include <vector>

#include "secrets/placeholder.hpp"
#include "secrets/wiped.hpp"
#include "tests/support/catch.hpp"

#ifndef __has_feature  // g++
#define __has_feature(name) 0
#endif

using namespace warder;

namespace {

template <class T>
concept Printable = requires(std::ostream& out, const T& value) { out << value; };
template <class T>
concept Comparable = requires(const T& value) { value == value; };
static_assert(!Printable<SecretValue> && !Comparable<SecretValue>);
static_assert(!std::is_copy_constructible_v<SecretValue> &&
              !std::is_copy_assignable_v<SecretValue>);

std::string seen(const SecretValue& value) {
  return value.reveal([](std::string_view view) { return std::string(view); });
}

// The child's exit code; 128 and more when it was killed.
int in_child(const std::function<int()>& act) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(STDERR_FILENO);
    ::signal(SIGSEGV, SIG_DFL);  // the test framework would catch it
    ::_exit(act());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("a secret value is what was put in, and moves without copies") {
  SecretValue first("ghp_first");
  CHECK(seen(first) == "ghp_first");
  CHECK(first.size() == 9);
  SecretValue second(std::move(first));
  CHECK(seen(second) == "ghp_first");
  SecretValue third("ghp_third");
  third = std::move(second);
  CHECK(seen(third) == "ghp_first");
  CHECK(seen(SecretValue(std::string(kMaxSecretBytes, 'x'))).size() == kMaxSecretBytes);
  CHECK(SecretValue("").size() == 0);
}

TEST_CASE("a secret value cannot be overwritten in place, nor read past its end") {
  const SecretValue value("ghp_in_locked_memory");
  const char* data = value.reveal([](std::string_view view) { return view.data(); });
  CHECK(in_child([&] { return data[0] == 'g' ? 7 : 8; }) == 7);
  CHECK(in_child([&] {
          *const_cast<volatile char*>(data) = 'x';
          return 7;
        }) != 7);
  CHECK(in_child([&] {
          static_cast<void>(*const_cast<const volatile char*>(data + value.size()));
          return 7;
        }) != 7);
}

// AddressSanitizer turns mlock into nothing.
#if !__has_feature(address_sanitizer)
TEST_CASE("memory that cannot be locked is refused, and the limit is named") {
  const int code = in_child([] {
    const rlimit limit{65536, 65536};
    if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 1;
    // Root may lock what it likes.
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) return 2;
    std::vector<SecretValue> values;
    try {
      while (values.size() < 100) values.emplace_back("ghp_a_page_of_its_own");
    } catch (const std::system_error& error) {
      const std::string_view text = error.what();
      if (text.find("RLIMIT_MEMLOCK is 65536") == std::string_view::npos) return 3;
      if (text.find("ghp_") != std::string_view::npos) return 4;
      return values.empty() || values.size() > 16 ? 5 : 7;
    }
    return 6;
  });
  CHECK(code == 7);
}

#endif

TEST_CASE("BR-009: a value that would end a field or a head is refused without being quoted") {
  using namespace std::string_literals;
  const std::string bad[] = {"",
                             "abc",
                             "abcdefg",
                             "abcdefgh\n",
                             "abc\r\nX-Injected: 1",
                             "abcd\0efgh"s,
                             "tab\tinside",
                             "delete\x7f"
                             "inside",
                             " leading1",
                             "trailing1 ",
                             std::string(kMaxSecretBytes + 1, 'x')};
  for (const std::string& value : bad) {
    CAPTURE(value);
    const auto why = refuse_value(value);
    REQUIRE(why);
    if (value.size() >= 3) CHECK(why->find(value) == std::string::npos);
    CHECK(why->find("abc") == std::string::npos);
    CHECK(why->find("Injected") == std::string::npos);
  }
  for (const std::string& value :
       {"abcdefgh"s, "with space inside"s, "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc"s,
        "a\"b\\c+d&e=f#g/h %i"s, std::string(kMaxSecretBytes, 'x')}) {
    CAPTURE(value.size());
    CHECK_FALSE(refuse_value(value));
  }
}

TEST_CASE("wiping a string also reaches what a longer text left behind its end") {
  std::string text = "a value that is longer than what a string keeps inside itself";
  const char* data = text.data();
  const std::size_t size = text.size();
  text.resize(3);
  wipe(text);
  CHECK(text.empty());
  CHECK(std::string_view(data, size) == std::string(size, '\0'));
}
