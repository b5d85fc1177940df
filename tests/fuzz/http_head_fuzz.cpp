// Invariant: any split gives the same events as the whole, or the same refusal; and a head that was
// let through, written by H1Writer and read again is the same head.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "http/h1_writer.hpp"
#include "tests/http/transcript.hpp"

using namespace warder;
using namespace warder::test;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// Small enough for the fuzzer to reach.
constexpr HeadLimits kLimits{.bytes = 600, .fields = 12, .target = 100, .trailer_bytes = 120};

// The first byte chooses who speaks and how the message ends.
struct Setting {
  explicit Setting(std::uint8_t bits)
      : is_request((bits & 1) != 0), ending((bits & 2) != 0 ? Ending::closed : Ending::open) {
    constexpr std::string_view kMethods[] = {"GET", "HEAD", "CONNECT", "POST"};
    method = kMethods[(bits >> 2) & 3];
  }
  std::string transcript(const std::vector<std::string_view>& pieces) const {
    return is_request ? Transcript::of_requests(pieces, ending, kLimits)
                      : Transcript::of_responses(method, pieces, ending, kLimits);
  }
  bool is_request;
  Ending ending;
  std::string_view method;
};

std::vector<std::string_view> cut(std::string_view text, std::uint32_t seed) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t size = (seed >> 16) % 24;  // now and then an empty read
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(pieces.back().size());
  }
  return pieces;
}

template <class Head>
void require_same(const Head& one, const Head& two) {
  require(one.fields == two.fields);
  if constexpr (std::is_same_v<Head, RequestHead>) {
    require(one.method == two.method && one.target == two.target);
  } else {
    require(one.status == two.status && one.phrase == two.phrase);
  }
}

template <class Head>
void require_round_trip(const Setting& setting, std::string_view text, Head& (H1Parser::*get)()) {
  const auto role = setting.is_request ? H1Parser::Role::request : H1Parser::Role::response;
  const auto begin = [&](H1Parser& parser) {
    setting.is_request ? parser.begin_request() : parser.begin_response(setting.method);
  };
  H1Parser first(role);
  begin(first);
  if (first.next(text) != H1Event::head) return;
  std::string written;
  require(write_head(written, (first.*get)()));
  H1Parser second(role);
  begin(second);
  std::string_view again = written;
  require(second.next(again) == H1Event::head && again.empty());
  require_same((first.*get)(), (second.*get)());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Setting setting(data[0]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);

  const std::string whole = setting.transcript({text});
  require(whole != Transcript::kBroken);
  require(setting.transcript(cut(text, data[1])) == whole);
  std::vector<std::string_view> bytes;
  for (std::size_t at = 0; at < text.size(); ++at) bytes.push_back(text.substr(at, 1));
  require(setting.transcript(bytes) == whole);

  if (setting.is_request) {
    require_round_trip(setting, text, &H1Parser::request);
  } else {
    require_round_trip(setting, text, &H1Parser::response);
  }
  return 0;
}
