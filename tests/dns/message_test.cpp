// The DNS codec against packets as resolver libraries send them, and against packets that nobody should send.
#include "dns/message.hpp"

#include <random>

#include "base/encoding.hpp"
#include "http/authority.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::dns;
using namespace std::string_literals;

namespace {

std::string wire(std::initializer_list<std::string_view> labels) {
  std::string name;
  for (const std::string_view label : labels) {
    name += static_cast<char>(label.size());
    name += label;
  }
  return name + '\0';
}

// Flags, then the counts of question, answer, authority and additional records.
struct Counts {
  unsigned question = 1;
  unsigned answer = 0;
  unsigned authority = 0;
  unsigned additional = 0;
};

std::string header(unsigned flags, Counts counts) {
  std::string out = "\x12\x34";
  for (const unsigned value :
       {flags, counts.question, counts.answer, counts.authority, counts.additional}) {
    out += static_cast<char>(value >> 8);
    out += static_cast<char>(value & 0xff);
  }
  return out;
}

const std::string kApi = wire({"api", "test"});
const std::string kAIn = "\0\x01\0\x01"s;
const std::string kOpt =
    "\0\0\x29\x10\0\0\0\0\0\0\0"s;  // root, OPT, 4096 bytes, version 0, no options

std::string ask(const std::string& name, const std::string& type_and_class = kAIn) {
  return header(0x0100, {}) + name + type_and_class;
}

bool is_formerr(std::string_view packet) {
  const auto query = parse_query(packet);
  return query && query->id == 0x1234 && query->wire_name.empty() && query->type == 0 &&
         query->opcode == 0 && query->name.empty() && !query->edns;
}

std::string hex(std::string_view bytes) { return hex_encode(as_bytes(bytes)); }

}  // namespace

TEST_CASE("glibc's and dig's questions are read") {
  // getaddrinfo("api.test"), as glibc 2.36 sends it.
  const auto plain = parse_query(
      "\x8d\x1b\x01\0\0\x01\0\0\0\0\0\0\x03"
      "api\x04test\0\0\x1c\0\x01"s);
  REQUIRE(plain);
  CHECK(plain->id == 0x8d1b);
  CHECK(plain->name == "api.test");
  CHECK(plain->type == AAAA);
  CHECK(plain->klass == 1);
  CHECK(plain->recursion_desired);
  CHECK_FALSE(plain->edns);
  CHECK(plain->udp_size == 512);

  // dig API.test HTTPS: RD and AD, EDNS with 1232 bytes and a cookie.
  const auto dig = parse_query(
      "\x00\x07\x01\x20\0\x01\0\0\0\0\0\x01\x03"
      "API\x04test\0\0\x41\0\x01"
      "\0\0\x29\x04\xd0\0\0\0\0\0\x0c\0\x0a\0\x08"
      "12345678"s);
  REQUIRE(dig);
  CHECK(dig->name == "API.test");
  CHECK(dig->wire_name ==
        "\x03"
        "API\x04test\0"s);
  CHECK(dig->type == HTTPS);
  CHECK(dig->edns);
  CHECK(dig->udp_size == 1232);
  CHECK_FALSE(dig->dnssec_ok);
}

TEST_CASE("an answer is the packet that a resolver library expects, to the byte") {
  const auto query = parse_query(ask(wire({"aPi", "TeSt"})));
  REQUIRE(query);
  Answer answer;
  answer.address = {198, 18, 0, 2};
  answer.ttl = 60;
  CHECK(hex(write_answer(*query, answer)) ==
        "1234"
        "8180"
        "0001"
        "0001"
        "0000"
        "0000"  // QR RD RA, no AA, NOERROR
        "036150690454655374"
        "00"
        "0001"
        "0001"  // aPi.TeSt A IN, its case kept
        "c00c"
        "0001"
        "0001"
        "0000003c"
        "0004"
        "c6120002");

  answer.address.reset();
  CHECK(hex(write_answer(*query, answer)) ==
        "1234"
        "8180"
        "0001"
        "0000"
        "0000"
        "0000"
        "036150690454655374"
        "00"
        "0001"
        "0001");

  const Answer refused{.rcode = Rcode::nxdomain, .extended_error = 15, .extended_text = "policy"};
  CHECK(hex(write_answer(*query, refused)) ==
        "1234"
        "8183"
        "0001"
        "0000"
        "0000"
        "0000"
        "036150690454655374"
        "00"
        "0001"
        "0001");
}

TEST_CASE("an extended error goes to those who asked with EDNS") {
  const auto query = parse_query(header(0, {.additional = 1}) + kApi + kAIn + kOpt);
  REQUIRE(query);
  CHECK(query->udp_size == 4096);
  const Answer refused{.rcode = Rcode::nxdomain, .extended_error = 15, .extended_text = "policy"};
  CHECK(hex(write_answer(*query, refused)) ==
        "1234"
        "8083"
        "0001"
        "0000"
        "0000"
        "0001"
        "03617069"
        "0474657374"
        "00"
        "0001"
        "0001"
        "00"
        "0029"
        "04d0"
        "00000000"
        "000c"
        "000f"
        "0008"
        "000f"
        "706f6c696379");
  CHECK(hex(write_answer(*query, Answer{}))
            .ends_with("00"
                       "0029"
                       "04d0"
                       "00000000"
                       "0000"));
}

TEST_CASE("the DNSSEC-OK bit comes back") {
  const std::string opt = "\0\0\x29\x10\0\0\0\x80\0\0\0"s;
  const auto query = parse_query(header(0, {.additional = 1}) + kApi + kAIn + opt);
  REQUIRE(query);
  CHECK(hex(write_answer(*query, Answer{}))
            .ends_with("00"
                       "0029"
                       "04d0"
                       "00008000"
                       "0000"));
}

TEST_CASE("another version of EDNS is BADVERS, and its options are not looked at") {
  for (const std::string& data : {"\0\0"s, "\0\3xyz"s}) {
    const auto query = parse_query(header(0, {.additional = 1}) + kApi + kAIn +
                                   "\0\0\x29\x10\0\0\x01\x80\0"s + data);
    REQUIRE(query);
    CHECK(query->edns);
    CHECK(query->edns_version == 1);
    CHECK(query->name == "api.test");
    CHECK(hex(write_answer(*query, {.rcode = Rcode::badvers})) ==
          "1234"
          "8080"
          "0001"
          "0000"
          "0000"
          "0001"  // the low bits of 16 are in the header, the high ones in OPT, of version 0
          "03617069"
          "0474657374"
          "00"
          "0001"
          "0001"
          "00"
          "0029"
          "04d0"
          "01008000"
          "0000");
  }
}

TEST_CASE("CD comes back, AD and Z are never set") {
  const auto query = parse_query(header(0x0170, {}) + kApi + kAIn);
  REQUIRE(query);
  CHECK(query->checking_disabled);
  CHECK(hex(write_answer(*query, Answer{}).substr(2, 2)) == "8190");
  const auto without = parse_query(header(0x0160, {}) + kApi + kAIn);
  REQUIRE(without);
  CHECK(hex(write_answer(*without, Answer{}).substr(2, 2)) == "8180");
}

TEST_CASE("the name of an address, to the byte") {
  const std::string asked = wire({"2", "0", "18", "198", "In-Addr", "ARPA"});
  const auto query = parse_query(ask(asked, "\0\x0c\0\x01"s));
  REQUIRE(query);
  const std::string packet = write_answer(*query, {.pointer = "api.test"});
  CHECK(packet == header(0x8180, {.answer = 1}) + asked +
                      "\0\x0c\0\x01\xc0\x0c\0\x0c\0\x01\0\0\0\x3c\0\x0a"s + kApi);
  CHECK(write_answer(*query, {.rcode = Rcode::nxdomain, .pointer = "api.test"}) ==
        write_answer(*query, {.rcode = Rcode::nxdomain}));
}

TEST_CASE("the longest name of the longest address fits, and none stands below another question") {
  std::string nibbles;
  for (int i = 0; i < 32; ++i) nibbles += "\1f";
  const std::string asked = nibbles + wire({"ip6", "arpa"});
  const std::string label(63, 'a');
  const std::string longest = label + '.' + label + '.' + label + '.' + std::string(61, 'b');
  Answer answer;
  answer.pointer = longest;
  answer.extended_error = 0;
  answer.extended_text = "why";
  const auto query = parse_query(header(0, {.additional = 1}) + asked + "\0\x0c\0\x01"s + kOpt);
  REQUIRE(query);
  const std::string packet = write_answer(*query, {.pointer = longest});
  CHECK(packet.size() == 12 + 74 + 4 + 12 + 255 + 11);
  CHECK(write_answer(*query, answer) == packet);
  const auto long_one = parse_query(ask(wire({label, label, "arpa"}), "\0\x0c\0\x01"s));
  REQUIRE(long_one);
  CHECK(write_answer(*long_one, answer) == write_answer(*long_one, Answer{}));
}

TEST_CASE("the longest answer fits where the smallest client reads") {
  const std::string label(63, 'a');
  const std::string longest = wire({label, label, label, std::string(61, 'b')});
  REQUIRE(longest.size() == 255);
  const auto query = parse_query(header(0, {.additional = 1}) + longest + kAIn + kOpt);
  REQUIRE(query);
  CHECK(query->name.size() == 253);
  Answer answer;
  answer.address = {198, 18, 0, 2};
  answer.ttl = 0xffffffff;
  answer.extended_error = 0;
  for (const std::size_t size : {199U, 200U, 201U, 70000U}) {
    std::string text;
    while (text.size() < size) text += "\xc3\xa9";  // é: 200 is even, 199 is not
    answer.extended_text = text;
    const std::string packet = write_answer(*query, answer);
    CHECK(packet.size() <= 512);
    CHECK(packet.ends_with("\xc3\xa9"));
  }
  answer.extended_text = "x" + std::string("\xe2\x82\xac") + std::string(198, 'y');
  answer.extended_text.replace(198, 4, "\xe2\x82\xac!");  // cut at 200 would split the euro sign
  CHECK(write_answer(*query, answer).ends_with("y"));
}

TEST_CASE("what is no query is not answered at all") {
  CHECK_FALSE(parse_query(""));
  CHECK_FALSE(parse_query(header(0, {}).substr(0, 11)));
  CHECK_FALSE(parse_query(header(0x8000, {}) + kApi + kAIn));
  CHECK_FALSE(parse_query(header(0x8180, {}) + kApi + kAIn));
}

TEST_CASE("malformed questions are FORMERR") {
  const std::string label(63, 'a');
  const std::pair<const char*, std::string> packets[] = {
      {"only a header", header(0, {})},
      {"no question", header(0, {.question = 0})},
      {"two questions", header(0, {.question = 2}) + kApi + kAIn + kApi + kAIn},
      {"a count of 65535", header(0, {.question = 65535}) + kApi + kAIn},
      {"an answer in the question", header(0, {.answer = 1}) + kApi + kAIn},
      {"an authority record", header(0, {.authority = 1}) + kApi + kAIn},
      {"a name that does not end", ask("\x03"
                                       "api",
                                       "")},
      {"a label longer than the packet", ask("\x3f"
                                             "api",
                                             "")},
      {"no type", ask(kApi, "")},
      {"half a class", ask(kApi, "\0\x01\0"s)},
      {"a pointer to the header", ask("\xc0\x00"s)},
      {"a pointer to itself", ask("\xc0\x0c"s)},
      {"a pointer after a label", ask("\x03"
                                      "api\xc0\x0c"s)},
      {"the extended label type", ask("\x41"
                                      "a\0"s)},
      {"the label type 10", ask("\x80"
                                "a\0"s)},
      {"a label of 64", ask("\x40" + std::string(64, 'a') + "\0"s)},
      {"a name of 256", ask(wire({label, label, label, std::string(62, 'b')}))},
      {"a name of 2000", ask(wire({label, label, label, label, label, label, label, label}))},
      {"bytes behind the question", ask(kApi) + "x"},
      {"an additional record that is missing", header(0, {.additional = 1}) + kApi + kAIn},
      {"more additional records than there are", header(0, {.additional = 2}) + kApi + kAIn + kOpt},
      {"fewer additional records than there are", header(0, {}) + kApi + kAIn + kOpt},
      {"two OPT", header(0, {.additional = 2}) + kApi + kAIn + kOpt + kOpt},
      {"OPT not at the root",
       header(0, {.additional = 1}) + kApi + kAIn + "\x01o\0\0\x29\x10\0\0\0\0\0\0\0"s},
      {"OPT by pointer",
       header(0, {.additional = 1}) + kApi + kAIn + "\xc0\x14\0\x29\x10\0\0\0\0\0\0\0"s},
      {"OPT that is cut", header(0, {.additional = 1}) + kApi + kAIn + kOpt.substr(0, 9)},
      {"OPT with data that is missing",
       header(0, {.additional = 1}) + kApi + kAIn + "\0\0\x29\x10\0\0\0\0\0\0\x04"s},
      {"half an option",
       header(0, {.additional = 1}) + kApi + kAIn + "\0\0\x29\x10\0\0\0\0\0\0\x03\0\x0a\0"s},
      {"an option longer than its record",
       header(0, {.additional = 1}) + kApi + kAIn + "\0\0\x29\x10\0\0\0\0\0\0\x04\0\x0a\0\x08"s},
  };
  for (const auto& [what, packet] : packets) {
    CAPTURE(what);
    CHECK(is_formerr(packet));
  }
  const auto query = parse_query(packets[0].second);
  CHECK(hex(write_answer(*query, {.rcode = Rcode::formerr})) == "123480810000000000000000");
}

TEST_CASE("other additional records are stepped over") {
  // A TSIG-like record with a name of its own, and one whose name is a pointer.
  const std::string tsig =
      "\x03"
      "key\0\0\xfa\0\xff\0\0\0\0\0\x02xy"s;
  const std::string pointing = "\xc0\x0c\0\x10\0\x01\0\0\0\0\0\0"s;
  const auto query =
      parse_query(header(0, {.additional = 3}) + kApi + kAIn + pointing + kOpt + tsig);
  REQUIRE(query);
  CHECK(query->name == "api.test");
  CHECK(query->edns);
}

TEST_CASE("an EDNS size under 512 means 512") {
  const auto query =
      parse_query(header(0, {.additional = 1}) + kApi + kAIn + "\0\0\x29\0\x01\0\0\0\0\0\0"s);
  REQUIRE(query);
  CHECK(query->udp_size == 512);
}

TEST_CASE("another operation is told apart, whatever it carries") {
  for (unsigned opcode = 1; opcode < 16; ++opcode) {
    const auto query = parse_query(header(opcode << 11 | 0x0100, {.question = 7}) + "\xff\xff");
    REQUIRE(query);
    CHECK(query->opcode == opcode);
    CHECK(query->wire_name.empty());
    const std::string answer = write_answer(*query, {.rcode = Rcode::notimp});
    CHECK(answer.size() == 12);
    CHECK(static_cast<std::uint8_t>(answer[2]) == (0x81U | opcode << 3));
    CHECK(static_cast<std::uint8_t>(answer[3]) == 0x84);
  }
}

TEST_CASE("the root is a name, and an empty one") {
  const auto query = parse_query(ask("\0"s, "\0\x02\0\x01"s));
  REQUIRE(query);
  CHECK(query->wire_name == "\0"s);
  CHECK(query->name.empty());
  CHECK(query->type == NS);
  CHECK(HostName::parse(query->name).has_error());
}

TEST_CASE("a name that only looks like another is refused as a host") {
  const std::pair<std::string, const char*> names[] = {
      {wire({"api.test"}), "api\\046test"},            // one label with a dot in it
      {wire({"api", "test."}), "api.test\\046"},       //
      {wire({"api\0"s, "test"}), "api\\000.test"},     //
      {wire({"api", "te st"}), "api.te\\032st"},       //
      {wire({"a\\046b", "test"}), "a\\092046b.test"},  // a backslash of its own
      {wire({"\xc3\xa9", "test"}), "\\195\\169.test"},
      {wire({"*", "test"}), "\\042.test"},
      {wire({"a@b", "test"}), "a\\064b.test"},
      {wire({"a/b", "test"}), "a\\047b.test"},
      {wire({"a%62", "test"}), "a\\03762.test"},
      {wire({"\n"}), "\\010"},
  };
  for (const auto& [on_wire, text] : names) {
    CAPTURE(text);
    const auto query = parse_query(ask(on_wire));
    REQUIRE(query);
    CHECK(query->name == text);
    CHECK(query->wire_name == on_wire);
    CHECK(HostName::parse(query->name).has_error());
  }
}

TEST_CASE("every byte in a label either stays itself or is escaped") {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const auto query = parse_query(ask(wire({std::string(1, c), "test"})));
    REQUIRE(query);
    const bool plain =
        byte < 128 && (std::isalnum(static_cast<int>(byte)) != 0 || c == '-' || c == '_');
    CHECK(query->name.size() == (plain ? 6U : 9U));
    CHECK((query->name[0] == c && query->name.size() == 6U) == plain);
  }
}

TEST_CASE("a packet that is cut anywhere is refused, never misread") {
  const std::string whole = header(0, {.additional = 1}) + kApi + kAIn +
                            "\0\0\x29\x04\xd0\0\0\0\0\0\x0c\0\x0a\0\x08"
                            "12345678"s;
  REQUIRE_FALSE(is_formerr(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const std::string cut = whole.substr(0, size);
    if (size < 12) {
      CHECK_FALSE(parse_query(cut));
    } else {
      CHECK(is_formerr(cut));
    }
  }
}

TEST_CASE("random bytes and damaged packets never break the codec") {
  std::mt19937 random(20261129);
  const std::string good = header(0x0100, {.additional = 1}) + kApi + kAIn + kOpt;
  const auto check = [](const std::string& packet) {
    const auto query = parse_query(packet);
    if (!query) return;
    REQUIRE(query->wire_name.size() <= 255);
    Answer answer;
    answer.address = {198, 18, 0, 2};
    answer.extended_error = 15;
    answer.extended_text = std::string(300, 't');
    const std::string reply = write_answer(*query, answer);
    REQUIRE(reply.size() <= 512);
    REQUIRE(reply.substr(0, 2) == packet.substr(0, 2));
    REQUIRE_FALSE(parse_query(reply));  // a response is no query
    if (!query->wire_name.empty()) {
      REQUIRE(packet.substr(12, query->wire_name.size()) == query->wire_name);
      REQUIRE(reply.substr(12, query->wire_name.size() + 4) ==
              packet.substr(12, query->wire_name.size() + 4));
    }
  };
  for (int i = 0; i < 20000; ++i) {
    std::string packet(random() % 80, '\0');
    for (char& c : packet) c = static_cast<char>(random());
    check(packet);
    std::string damaged = good;
    for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    check(damaged);
  }
}

TEST_CASE("types have their names") {
  CHECK(type_name(A) == "A");
  CHECK(type_name(AAAA) == "AAAA");
  CHECK(type_name(HTTPS) == "HTTPS");
  CHECK(type_name(SVCB) == "SVCB");
  CHECK(type_name(ANY) == "ANY");
  CHECK(type_name(0) == "TYPE0");
  CHECK(type_name(1234) == "TYPE1234");
}
