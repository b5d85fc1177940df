#include "http/message.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

namespace {

HeaderList sample() {
  HeaderList list;
  list.add("Accept", "a");
  list.add("X-One", "1");
  list.add("ACCEPT", "b");
  list.add("x-two", "2");
  list.add("accept", "c");
  return list;
}

std::string text_of(const HeaderList& list) {
  std::string out;
  for (const HeaderField& field : list) out += field.name + '=' + field.value + ';';
  return out;
}

}  // namespace

TEST_CASE("names are the same in any case, and only ASCII letters have a case") {
  CHECK(same_name("Content-Type", "cONTENT-tYPE"));
  CHECK(same_name("", ""));
  CHECK_FALSE(same_name("Host", "Hos"));
  CHECK_FALSE(same_name("a[", "a{"));
  CHECK_FALSE(same_name("\xc4", "\xe4"));
}

TEST_CASE("a header list keeps order, spelling and repetition") {
  const HeaderList list = sample();
  CHECK(text_of(list) == "Accept=a;X-One=1;ACCEPT=b;x-two=2;accept=c;");
  CHECK(list.count("aCCEPT") == 3);
  CHECK(list.find("accept")->value == "a");
  CHECK(list.find("none") == nullptr);
  CHECK_FALSE(list.has("none"));
}

TEST_CASE("setting replaces the first field of a name where it stands and takes off the others") {
  HeaderList list = sample();
  list.set("accept", "z");
  CHECK(text_of(list) == "Accept=z;X-One=1;x-two=2;");
  list.set("New", "n");
  CHECK(text_of(list) == "Accept=z;X-One=1;x-two=2;New=n;");
}

TEST_CASE("removing takes off every field of a name") {
  HeaderList list = sample();
  list.remove("AccepT");
  CHECK(text_of(list) == "X-One=1;x-two=2;");
  list.remove("none");
  CHECK(list.size() == 2);
}

TEST_CASE("a token is found in any field of its name, whole and in any case") {
  HeaderList list;
  list.add("Connection", "keep-alive ,\tX-Hop,");
  list.add("connection", " , Close");
  list.add("Other", "upgrade");
  CHECK(list.has_token("Connection", "close"));
  CHECK(list.has_token("Connection", "x-hop"));
  CHECK_FALSE(list.has_token("Connection", "hop"));
  CHECK_FALSE(list.has_token("Connection", "keep"));
  CHECK_FALSE(list.has_token("Connection", "upgrade"));
}
