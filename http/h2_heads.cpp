#include "http/h2_heads.hpp"

#include <algorithm>
#include <array>

#include "http/chars.hpp"
#include "http/framing.hpp"
#include "http/head_reader.hpp"

namespace warder {
namespace {

// What a field costs beside its bytes: ": " and the line end, as in HTTP/1.1.
constexpr std::size_t kFieldOverhead = 4;

// They describe an HTTP/1.1 connection or its framing, and have no place in HTTP/2.
constexpr std::array kConnectionFields = std::to_array<std::string_view>(
    {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"});

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), to_lower);
  return result;
}

}  // namespace

void H2HeadReader::begin(Kind kind) {
  *this = H2HeadReader(limits_);
  kind_ = kind;
}

void H2HeadReader::add(std::string_view name, std::string_view value, Index index) {
  bytes_ += name.size() + value.size() + kFieldOverhead;
  const std::size_t most = kind_ == Kind::trailers ? limits_.trailer_bytes : limits_.bytes;
  if (kind_ == Kind::request && name == ":path" && value.size() > limits_.target) {
    fit_ = Fit::target_too_long;
  } else if (bytes_ > most || ++count_ > limits_.fields) {
    if (fit_ == Fit::fits) fit_ = Fit::too_large;
  }
  if (fit_ != Fit::fits) {
    fields_.clear();
    return;
  }
  if (name.starts_with(':')) {
    std::string* const slot = pseudo(name);
    if (slot == nullptr || !slot->empty()) {
      malformed_ = true;
    } else {
      slot->assign(value);
    }
    return;
  }
  if (!all_in(kTokenChar, name) || !all_in(kFieldChar, value) || trim(value) != value) {
    malformed_ = true;
  }
  fields_.add(std::string(name), std::string(value));
  if (index == Index::never) never_indexed_.emplace_back(name);
}

std::string* H2HeadReader::pseudo(std::string_view name) {
  if (kind_ == Kind::response) return name == ":status" ? &status_ : nullptr;
  if (kind_ == Kind::trailers) return nullptr;
  if (name == ":method") return &method_;
  if (name == ":scheme") return &scheme_;
  if (name == ":authority") return &authority_;
  return name == ":path" ? &path_ : nullptr;
}

// One name for the destination: Host goes, when it says the same as :authority.
bool H2HeadReader::take_host() {
  if (fields_.count("host") > 1) return false;
  if (const HeaderField* host = fields_.find("host"); host != nullptr) {
    if (authority_.empty()) authority_ = host->value;
    if (!same_name(host->value, authority_)) return false;
    fields_.remove("host");
  }
  return !authority_.empty() && all_in(kVisible, authority_);
}

std::optional<H2HeadReader::Request> H2HeadReader::request() {
  if (malformed_ || !is_method(method_)) return std::nullopt;
  const bool is_connect = method_ == "CONNECT";
  if (is_connect && (authority_.empty() || !scheme_.empty() || !path_.empty())) return std::nullopt;
  if (!take_host()) return std::nullopt;
  scheme_ = lower(scheme_);
  if (!is_connect) {
    const bool is_asterisk = method_ == "OPTIONS" && path_ == "*";
    if (scheme_ != "http" && scheme_ != "https") return std::nullopt;
    if (!is_asterisk && !path_.starts_with('/')) return std::nullopt;
    if (!all_in(kVisible, path_)) return std::nullopt;
  }
  Request result;
  result.scheme = std::move(scheme_);
  result.head.method = std::move(method_);
  result.head.target = is_connect ? authority_ : std::move(path_);
  fields_.fields().insert(fields_.begin(), {"host", std::move(authority_)});
  result.head.fields = std::move(fields_);
  return result;
}

std::optional<ResponseHead> H2HeadReader::response() {
  const bool is_number =
      status_.size() == 3 && std::all_of(status_.begin(), status_.end(), is_digit);
  if (malformed_ || !is_number || status_[0] == '0') return std::nullopt;
  ResponseHead head;
  head.status = (status_[0] - '0') * 100 + (status_[1] - '0') * 10 + (status_[2] - '0');
  head.fields = std::move(fields_);
  return head;
}

std::optional<HeaderList> H2HeadReader::trailers() {
  for (const HeaderField& field : fields_) malformed_ |= !may_be_trailer(field.name);
  if (malformed_) return std::nullopt;
  return std::move(fields_);
}

bool H2Fields::request(const RequestHead& head, std::string_view scheme,
                       std::string_view authority) {
  const bool is_connect = head.method == "CONNECT";
  if (head.method.empty() || !all_in(kTokenChar, head.method)) return false;
  if (authority.empty() || !all_in(kVisible, authority)) return false;
  add(":method", head.method);
  if (!is_connect) {
    const bool is_asterisk = head.method == "OPTIONS" && head.target == "*";
    if (!is_asterisk && !head.target.starts_with('/')) return false;
    if (!all_in(kVisible, head.target)) return false;
    add(":scheme", scheme);
  }
  add(":authority", authority);
  if (!is_connect) add(":path", head.target);
  return add_fields(head.fields);
}

bool H2Fields::response(const ResponseHead& head) {
  if (head.status < 100 || head.status > 999 || head.status == 101) return false;
  status_ = std::to_string(head.status);
  add(":status", status_);
  return add_fields(head.fields);
}

bool H2Fields::trailers(const HeaderList& fields) {
  for (const HeaderField& field : fields) {
    if (!may_be_trailer(field.name)) return false;
  }
  return add_fields(fields);
}

bool H2Fields::add_fields(const HeaderList& fields) {
  names_.reserve(fields.size());  // pairs_ points into it
  for (const HeaderField& field : fields) {
    if (field.name.empty() || !all_in(kTokenChar, field.name)) return false;
    if (!all_in(kFieldChar, field.value) || trim(field.value) != field.value) return false;
    std::string name = lower(field.name);
    if (name == "host" || is_one_of(kConnectionFields, name)) continue;
    if (name == "te") {
      if (fields.has_token("te", "trailers") && &field == fields.find("te")) add("te", "trailers");
      continue;
    }
    names_.push_back(std::move(name));
    add(names_.back(), field.value);
  }
  return true;
}

void H2Fields::add(std::string_view name, std::string_view value) {
  const bool never = std::find(never_.begin(), never_.end(), name) != never_.end();
  // nghttp2 copies both, and does not write to them: its C type has no const.
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  const auto flags =
      static_cast<std::uint8_t>(never ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE);
  pairs_.push_back({bytes(name), bytes(value), name.size(), value.size(), flags});
}

}  // namespace warder
