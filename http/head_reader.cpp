#include "http/head_reader.hpp"

#include <llhttp.h>

#include <algorithm>
#include <optional>

#include "http/chars.hpp"
#include "http/framing.hpp"
#include "http/target.hpp"

namespace warder {
namespace {

constexpr std::size_t kMaxMethod = 32;
constexpr std::size_t kUsualFields = 16;

// Where the callbacks put what llhttp finds. llhttp may report a name or value in several pieces.
struct Found {
  std::string target;
  HeaderList fields;
  std::string name;
  std::string value;
};

Found& found(llhttp_t* parser) { return *static_cast<Found*>(parser->data); }

int on_url(llhttp_t* parser, const char* at, std::size_t size) noexcept {
  found(parser).target.append(at, size);
  return 0;
}
int on_name(llhttp_t* parser, const char* at, std::size_t size) noexcept {
  found(parser).name.append(at, size);
  return 0;
}
int on_value(llhttp_t* parser, const char* at, std::size_t size) noexcept {
  found(parser).value.append(at, size);
  return 0;
}
int on_value_complete(llhttp_t* parser) noexcept {
  Found& here = found(parser);
  here.value.resize(trim(here.value).size());  // llhttp takes off leading white space only
  here.fields.add(std::move(here.name), std::move(here.value));
  here.name.clear();
  here.value.clear();
  return 0;
}
// The body is not llhttp's: H1Parser cuts it out of its input without a copy.
int on_headers_complete(llhttp_t*) noexcept { return HPE_PAUSED; }

const llhttp_settings_t kSettings = [] {
  llhttp_settings_t settings;
  llhttp_settings_init(&settings);
  settings.on_url = on_url;
  settings.on_header_field = on_name;
  settings.on_header_value = on_value;
  settings.on_header_value_complete = on_value_complete;
  settings.on_headers_complete = on_headers_complete;
  return settings;
}();

H1Error to_error(llhttp_errno_t error) {
  switch (error) {
    case HPE_UNEXPECTED_CONTENT_LENGTH:
    case HPE_INVALID_CONTENT_LENGTH:
    case HPE_INVALID_TRANSFER_ENCODING: return H1Error::bad_framing;
    default: return H1Error::malformed;
  }
}

// One run of llhttp over a head in two pieces, which must end exactly with the head.
class Run {
 public:
  explicit Run(llhttp_type_t type) {
    llhttp_init(&parser_, type, &kSettings);
    parser_.data = &found_;
    found_.fields.fields().reserve(kUsualFields);
  }
  H1Error read(std::string_view first, std::string_view rest) {
    if (!first.empty()) {
      const llhttp_errno_t error = llhttp_execute(&parser_, first.data(), first.size());
      if (error != HPE_OK) return to_error(error);
    }
    const llhttp_errno_t error = llhttp_execute(&parser_, rest.data(), rest.size());
    if (error == HPE_OK) return H1Error::malformed;
    if (error != HPE_PAUSED) return to_error(error);
    const bool whole = llhttp_get_error_pos(&parser_) == rest.data() + rest.size();
    return whole ? H1Error::none : H1Error::malformed;
  }
  Found& found() { return found_; }

 private:
  llhttp_t parser_;
  Found found_;
};

// "HTTP/1.0" or "HTTP/1.1".
std::optional<int> minor_version(std::string_view text) {
  if (text.size() != 8 || !text.starts_with("HTTP/1.")) return std::nullopt;
  if (text.back() != '0' && text.back() != '1') return std::nullopt;
  return text.back() - '0';
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\r')); }

}  // namespace

bool is_method(std::string_view text) {
  constexpr CharClass kMethodChar = char_class(
      [](int c) { return kTokenChar[static_cast<unsigned>(c)] && (c < 'a' || c > 'z'); });
  return !text.empty() && text.size() <= kMaxMethod && all_in(kMethodChar, text);
}

H1Error read_request_head(std::string_view text, const HeadLimits& limits, RequestHead& head) {
  const std::string_view line = first_line(text);
  const std::size_t space = line.find(' ');
  const std::size_t last_space = line.rfind(' ');
  if (space == std::string_view::npos || space == last_space) return H1Error::malformed;
  const std::string_view method = line.substr(0, space);
  const std::string_view target = line.substr(space + 1, last_space - space - 1);
  const std::optional<int> minor = minor_version(line.substr(last_space + 1));
  if (!minor || !is_method(method)) return H1Error::malformed;
  if (target.size() > limits.target) return H1Error::uri_too_long;
  if (target.empty()) return H1Error::malformed;
  const bool is_ascii = all_in(kVisible, target);
  if (!is_ascii && !has_target_chars(method, target)) return H1Error::malformed;

  // llhttp knows a fixed list of methods, but any token is one (Vault's LIST, QUERY): the name is
  // ours, llhttp only needs to know whether the target is in authority form. It has no host beyond
  // ASCII either: that target is ours too.
  Run run(HTTP_REQUEST);
  const std::string_view stand_in = method == "CONNECT" ? "CONNECT" : "POST";
  const H1Error error = is_ascii ? run.read(stand_in, text.substr(space))
                                 : run.read("POST /", text.substr(last_space));
  if (error != H1Error::none) return error;
  if (is_ascii && run.found().target != target) return H1Error::malformed;
  // Two of them are two destinations. A missing one is the caller's matter: the target may name it.
  if (run.found().fields.count("Host") > 1) return H1Error::malformed;
  head.method = method;
  head.target = target;
  head.minor = *minor;
  head.fields = std::move(run.found().fields);
  return H1Error::none;
}

H1Error read_response_head(std::string_view text, ResponseHead& head) {
  const std::string_view line = first_line(text);
  const std::optional<int> minor = minor_version(line.substr(0, 8));
  if (!minor || line.size() < 12 || line[8] != ' ') return H1Error::malformed;
  const std::string_view digits = line.substr(9, 3);
  if (!std::all_of(digits.begin(), digits.end(), is_digit) || digits[0] == '0') {
    return H1Error::malformed;
  }
  // Many servers leave out the space before an empty phrase.
  if (line.size() > 12 && line[12] != ' ') return H1Error::malformed;

  Run run(HTTP_RESPONSE);
  const H1Error error = run.read({}, text);
  if (error != H1Error::none) return error;
  head.status = (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0');
  head.phrase = line.size() > 12 ? line.substr(13) : std::string_view{};
  head.minor = *minor;
  head.fields = std::move(run.found().fields);
  return H1Error::none;
}

H1Error read_trailers(std::string_view text, HeaderList& trailers) {
  // llhttp has no way to read fields alone.
  Run run(HTTP_REQUEST);
  const H1Error error = run.read("POST / HTTP/1.1\r\n", text);
  if (error != H1Error::none) return error;
  for (const HeaderField& field : run.found().fields) {
    if (!may_be_trailer(field.name)) return H1Error::bad_framing;
  }
  trailers = std::move(run.found().fields);
  return H1Error::none;
}

}  // namespace warder
