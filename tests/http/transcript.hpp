// Runs an H1Parser over pieces of input and writes down what it says, to compare two runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/h1_parser.hpp"

namespace warder::test {

enum class Ending : std::uint8_t { open, closed };  // does the peer close after the last piece?

inline std::string_view word(H1Error error) {
  switch (error) {
    case H1Error::none: return "none";
    case H1Error::malformed: return "malformed";
    case H1Error::bad_framing: return "bad_framing";
    case H1Error::uri_too_long: return "uri_too_long";
    case H1Error::head_too_large: return "head_too_large";
    case H1Error::truncated: return "truncated";
  }
  return "?";
}

inline std::string word(const Framing& framing) {
  switch (framing.kind) {
    case Framing::Kind::none: return "none";
    case Framing::Kind::length: return "length " + std::to_string(framing.length);
    case Framing::Kind::chunked: return "chunked";
    case Framing::Kind::until_close: return "until_close";
  }
  return "?";
}

class Transcript {
 public:
  // Instead of everything else when need_more left input behind, or a body event was empty.
  static constexpr std::string_view kBroken = "contract broken";

  static std::string of_requests(const std::vector<std::string_view>& pieces,
                                 Ending ending = Ending::open, HeadLimits limits = {}) {
    Transcript run(H1Parser::Role::request, "", limits);
    return run.play(pieces, ending);
  }
  static std::string of_responses(std::string_view method,
                                  const std::vector<std::string_view>& pieces,
                                  Ending ending = Ending::open, HeadLimits limits = {}) {
    Transcript run(H1Parser::Role::response, method, limits);
    return run.play(pieces, ending);
  }

 private:
  Transcript(H1Parser::Role role, std::string_view method, HeadLimits limits)
      : role_(role), method_(method), parser_(role, limits) {}

  std::string play(const std::vector<std::string_view>& pieces, Ending ending) {
    begin();
    for (std::string_view in : pieces) feed(in);
    if (ending == Ending::closed && !over_) note(parser_.eof());
    flush_body();
    if (!rest_.empty()) out_ += "rest [" + rest_ + "]\n";
    return broken_ ? std::string(kBroken) : std::move(out_);
  }

  void begin() {
    role_ == H1Parser::Role::request ? parser_.begin_request() : parser_.begin_response(method_);
  }

  void feed(std::string_view in) {
    while (!over_) {
      const H1Event event = parser_.next(in);
      if (event == H1Event::need_more) {
        broken_ |= !in.empty();
        return;
      }
      note(event);
    }
    rest_ += refused_ ? std::string_view{} : in;
  }

  void note(H1Event event) {
    if (event == H1Event::body) {
      broken_ |= parser_.body().empty();
      body_ += parser_.body();
      return;
    }
    flush_body();
    switch (event) {
      case H1Event::head: note_head(); break;
      case H1Event::end: note_end(); break;
      case H1Event::error:
        out_ += "error " + std::string(word(parser_.error())) + '\n';
        over_ = refused_ = true;
        break;
      case H1Event::need_more: out_ += parser_.started() ? "eof, started\n" : "eof\n"; break;
      case H1Event::body: break;
    }
  }

  void note_head() {
    if (role_ == H1Parser::Role::request) {
      const RequestHead& head = parser_.request();
      out_ += "head " + head.method + ' ' + head.target + ' ' + std::to_string(head.minor) + '\n';
      note_fields(head.fields);
    } else {
      const ResponseHead& head = parser_.response();
      out_ += "head " + std::to_string(head.status) + " [" + head.phrase + "] " +
              std::to_string(head.minor) + '\n';
      note_fields(head.fields);
    }
    out_ += "framing " + word(parser_.framing()) + (parser_.keep_alive() ? "" : " close") + '\n';
  }

  void note_fields(const HeaderList& fields) {
    for (const HeaderField& f : fields) out_ += "  " + f.name + ": [" + f.value + "]\n";
  }

  void note_end() {
    out_ += "end\n";
    note_fields(parser_.trailers());
    const bool is_final =
        role_ == H1Parser::Role::response &&
        (parser_.response().status / 100 != 1 || parser_.response().status == 101);
    over_ = is_final || (role_ == H1Parser::Role::request && parser_.request().method == "CONNECT");
    if (!over_) begin();
  }

  void flush_body() {
    if (!body_.empty()) out_ += "body [" + body_ + "]\n";
    body_.clear();
  }

  H1Parser::Role role_;
  std::string method_;
  H1Parser parser_;
  std::string out_;
  std::string body_;
  std::string rest_;
  bool over_ = false;
  bool refused_ = false;
  bool broken_ = false;
};

}  // namespace warder::test
