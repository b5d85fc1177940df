// Promise 3 as a property: whatever the secret, the body, its coding, framing and cuts, and however the value is spelled,
// the sandbox reads the placeholder in its place and every other byte as it was. `--rng-seed N` tries others.
#include "base/encoding.hpp"
#include "tests/http/coded.hpp"
#include "tests/proxy/support/gateway.hpp"
#include "tests/secrets/seeded_random.hpp"

using namespace warder;
using namespace warder::test;

namespace {

constexpr std::string_view kUnreserved =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~";

std::string number(unsigned value, unsigned base, std::size_t digits, bool upper = false) {
  std::string text(digits, '0');
  for (std::size_t i = digits; i-- > 0; value /= base)
    text[i] = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[value % base];
  return text;
}

// How a value may be spelled: `escape` for some of its characters, or all of it in a form.
enum class Manner { raw, percent, percent_twice, json, json_x, html, html_hex, hex, base64 };
constexpr int kManners = 9;

struct Spelling {
  Manner manner = Manner::raw;
  bool upper = false;
  unsigned nth = 1;    // which characters are escaped
  std::string before;  // in base64
  std::string behind;
};

Spelling any_spelling(SeededRandom& random) {
  Spelling made;
  made.manner = static_cast<Manner>(random.below(kManners));
  made.upper = random.below(2) == 0;
  made.nth = 1 + random.below(5);
  made.before = random.text(random.below(12), kAlnum);
  made.behind = random.text(random.below(12), kAlnum);
  return made;
}

std::string escaped(const Spelling& how, char c) {
  const auto code = static_cast<unsigned char>(c);
  switch (how.manner) {
    case Manner::percent: return "%" + number(code, 16, 2, how.upper);
    case Manner::percent_twice: return "%25" + number(code, 16, 2, how.upper);
    case Manner::json: return "\\u" + number(code, 16, 4, how.upper);
    case Manner::json_x: return "\\x" + number(code, 16, 2, how.upper);
    case Manner::html: return "&#" + number(code, 10, 3) + ";";
    case Manner::html_hex: return "&#x" + number(code, 16, 2, how.upper) + ";";
    default: return {c};
  }
}

std::string spelled(const Spelling& how, const std::string& value) {
  if (how.manner == Manner::base64) return base64_encode(how.before + value + how.behind);
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (how.manner == Manner::hex)
      text += number(static_cast<unsigned char>(c), 16, 2, how.upper);
    else
      text += i % how.nth == 0 ? escaped(how, c) : std::string(1, c);
  }
  return text;
}

// What stands between two values: any bytes, but none of which an escape or base64 could reach into the next one.
std::string any_filler(SeededRandom& random) {
  return "\n" + random.bytes(random.below(random.below(8) == 0 ? 40'000 : 200)) + "\n";
}

std::string any_secret(SeededRandom& random) {
  static const std::vector<std::string> kPrefixes = {"", "", "sk-", "ghp_", "hf_", "glpat-"};
  return kPrefixes[random.below(6)] + random.text(22 + random.below(60), kUnreserved);
}

std::vector<Coding> any_codings(SeededRandom& random) {
  std::vector<Coding> codings;
  for (std::uint32_t count = random.below(3); count > 0; --count)
    codings.push_back(kEach[random.below(4)]);
  return codings;
}

struct Case {
  std::vector<Spelling> spellings;
  std::vector<std::string> fillers;  // one more
  std::vector<Coding> codings;
  int framing = 0;          // length, chunked, until the close
  std::size_t largest = 1;  // chunk, and write
  std::uint64_t cuts = 0;   // the seed of the sizes

  std::string text(const std::string& value) const {
    std::string made = fillers[0];
    for (std::size_t i = 0; i < spellings.size(); ++i)
      made += spelled(spellings[i], value) + fillers[i + 1];
    return made;
  }
};

Case any_case(SeededRandom& random) {
  Case made;
  made.fillers.push_back(any_filler(random));
  for (std::uint32_t count = 1 + random.below(6); count > 0; --count) {
    made.spellings.push_back(any_spelling(random));
    made.fillers.push_back(any_filler(random));
  }
  made.codings = any_codings(random);
  made.framing = static_cast<int>(random.below(3));
  made.largest = 1 + random.below(random.below(3) == 0 ? 20'000 : 40);
  made.cuts = random.next();
  return made;
}

std::string coding_names(const std::vector<Coding>& codings) {
  static const std::map<Coding, std::string> kNames = {{Coding::gzip, "gzip"},
                                                       {Coding::deflate, "deflate"},
                                                       {Coding::br, "br"},
                                                       {Coding::zstd, "zstd"}};
  std::string names;
  for (const Coding coding : codings) names += (names.empty() ? "" : ", ") + kNames.at(coding);
  return names;
}

template <class Take>
void in_cuts(std::string_view bytes, const Case& made, Take take) {
  SeededRandom random(made.cuts);
  // Not more than some thousand of them.
  const std::size_t least = bytes.size() / 4000;
  while (!bytes.empty()) {
    const std::size_t size =
        std::min(bytes.size(), least + 1 + random.below(static_cast<std::uint32_t>(made.largest)));
    take(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
}

std::string response(const Case& made, const std::string& value) {
  const std::string body =
      made.codings.empty() ? made.text(value) : encode(made.codings, made.text(value));
  std::string out = "HTTP/1.1 200 OK\r\n";
  if (!made.codings.empty()) out += "Content-Encoding: " + coding_names(made.codings) + "\r\n";
  if (made.framing == 0)
    return out + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  if (made.framing == 2) return out + "Connection: close\r\n\r\n" + body;
  out += "Transfer-Encoding: chunked\r\n\r\n";
  in_cuts(body, made, [&](std::string_view piece) {
    out +=
        number(static_cast<unsigned>(piece.size()), 16, 8) + "\r\n" + std::string(piece) + "\r\n";
  });
  return out + "0\r\n\r\n";
}

// What a reader makes of a spelling in hex or escapes.
std::string read_back(const Spelling& how, std::string_view text) {
  std::string read;
  for (std::size_t i = 0; !text.empty(); ++i) {
    const std::string example = how.manner == Manner::hex ? "00"
                                : i % how.nth == 0        ? escaped(how, '\0')
                                                          : "0";
    const std::string escape(text.substr(0, example.size()));
    text.remove_prefix(escape.size());
    if (escape.size() == 1) {
      read += escape;
      continue;
    }
    const std::size_t digits = example.find_last_not_of("0;") + 1;
    CHECK(escape.substr(0, digits) == example.substr(0, digits));
    CHECK((escape.back() == ';') == (example.back() == ';'));
    read += static_cast<char>(
        std::stoi(escape.substr(digits), nullptr, how.manner == Manner::html ? 10 : 16));
  }
  return read;
}

// `masked` is the placeholder as `how` spells it; of base64 the first character also holds bits of what is before.
void check_spelling(const Spelling& how, const std::string& masked,
                    const std::string& placeholder) {
  if (how.manner != Manner::base64) {
    CHECK(read_back(how, masked) == placeholder);
    return;
  }
  const auto plain = base64_decode(masked);
  REQUIRE(plain);
  const std::size_t at = how.before.size();
  CHECK(plain->substr(0, at) == how.before);
  CHECK(plain->substr(at + 1) == placeholder.substr(1) + how.behind);
}

void check_text(const Case& made, std::string_view got, const std::string& value,
                const std::string& placeholder) {
  REQUIRE(got.size() == made.text(value).size());  // a placeholder has the value's length here
  std::size_t at = 0;
  const auto take = [&](std::size_t size) {
    at += size;
    return std::string(got.substr(at - size, size));
  };
  for (std::size_t i = 0; i < made.fillers.size(); ++i) {
    CHECK(take(made.fillers[i].size()) == made.fillers[i]);
    if (i == made.spellings.size()) break;
    INFO("spelling " << i << ": manner " << static_cast<int>(made.spellings[i].manner));
    const std::string was = spelled(made.spellings[i], value);
    const std::string masked = take(was.size());
    CHECK(masked != was);
    check_spelling(made.spellings[i], masked, placeholder);
  }
}

}  // namespace

TEST_CASE(
    "BR-065, BR-066: no secret, body, coding, framing, spelling or cut lets the value through") {
  const std::uint64_t seed = Catch::rngSeed();
  for (std::uint64_t round = 0; round < 10; ++round) {
    CAPTURE(seed, round);
    SeededRandom random(seed * 1000 + round);
    std::vector<Case> cases;
    for (int i = 0; i < 60; ++i) cases.push_back(any_case(random));
    const std::string value = any_secret(random);
    const auto script = [&](Wire& wire, std::size_t) {
      for (;;) {
        const Message request = wire.read_message();
        if (!request.whole) return;
        const Case& made = cases.at(std::stoul(request.first_line().substr(5)));
        in_cuts(response(made, value), made, [&](std::string_view piece) { wire.send(piece); });
        if (made.framing == 2) {
          wire.shut_write();
          return;
        }
      }
    };
    TestGateway warder;
    warder.secret = value;
    // With a grant what may be the beginning of a value is held, without one the words.
    Origin granted(script, warder.trusted_tls("api.test"));
    Origin other(script, warder.trusted_tls("other.test"));
    warder.route("api.test", Scheme::https, granted);
    warder.route("other.test", Scheme::https, other);
    for (const std::string host : {"api.test", "other.test"}) {
      std::unique_ptr<Wire> client;
      std::string got;
      for (std::size_t i = 0; i < cases.size(); ++i) {
        const Case& made = cases[i];
        CAPTURE(host, i, made.framing, made.largest, coding_names(made.codings));
        if (!client) client = warder.tls(host);
        client->send("GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
        const Message answer = client->read_message();
        REQUIRE(answer.whole);
        REQUIRE(answer.status() == 200);
        REQUIRE(warder.placeholder.size() == value.size());
        std::string text = answer.body;
        if (!made.codings.empty()) {
          text = decode(made.codings, {answer.body});
          REQUIRE(text.ends_with("|end"));
          text.resize(text.size() - 4);
        }
        check_text(made, text, value, warder.placeholder);
        CHECK(client->got().find(value) == std::string::npos);
        if (made.framing == 2) client.reset();
      }
    }
    granted.stop();
    other.stop();
  }
}
