// Heads between HTTP/2's form (pseudo-header fields, lower-case names) and ours.
#pragma once

#include <nghttp2/nghttp2.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"

namespace warder {

// Collects the fields of one header block as nghttp2 decodes them, and keeps no more than the
// limits allow: a block of a few kilobytes can name megabytes of fields.
class H2HeadReader {
 public:
  enum class Kind : std::uint8_t { request, response, trailers };
  enum class Fit : std::uint8_t { fits, target_too_long, too_large };
  enum class Index : bool { allowed, never };

  explicit H2HeadReader(const HeadLimits& limits) : limits_(limits) {}

  void begin(Kind kind);
  Kind kind() const { return kind_; }
  void add(std::string_view name, std::string_view value, Index index);
  Fit fit() const { return fit_; }

  // After the whole block, once it fits. nullopt: malformed.
  struct Request {
    RequestHead head;
    std::string scheme;
  };
  std::optional<Request> request();
  std::optional<ResponseHead> response();
  std::optional<HeaderList> trailers();
  // Names that the peer marked as never to be indexed (RFC 7541 section 6.2.3).
  std::vector<std::string>& never_indexed() { return never_indexed_; }

 private:
  std::string* pseudo(std::string_view name);
  bool take_host();

  HeadLimits limits_;
  Kind kind_ = Kind::request;
  Fit fit_ = Fit::fits;
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
  bool malformed_ = false;
  std::string method_, scheme_, authority_, path_, status_;
  HeaderList fields_;
  std::vector<std::string> never_indexed_;
};

// A head as nghttp2 takes it; owns the names and pseudo values that it made up itself, and borrows
// the rest. What belongs to one HTTP/1.1 connection is left out.
class H2Fields {
 public:
  // `never_indexed`: lower-case names that HPACK must not keep.
  explicit H2Fields(const std::vector<std::string>& never_indexed) : never_(never_indexed) {}

  // False: something in it cannot be sent (RFC 9113 section 8.2.1).
  bool request(const RequestHead& head, std::string_view scheme, std::string_view authority);
  bool response(const ResponseHead& head);
  bool trailers(const HeaderList& fields);

  const nghttp2_nv* data() const { return pairs_.data(); }
  std::size_t size() const { return pairs_.size(); }

 private:
  bool add_fields(const HeaderList& fields);
  void add(std::string_view name, std::string_view value);

  const std::vector<std::string>& never_;
  std::vector<std::string> names_;
  std::string status_;
  std::vector<nghttp2_nv> pairs_;
};

}  // namespace warder
