// A request as a person writes it down: a URL, a method, fields. Read as the gateway reads what a
// sandbox sends, so that nothing is explained which the gateway would take for something else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "policy/request_facts.hpp"

namespace warder {

struct SupposedRequest {
  std::string url;  // as given
  std::string method = "GET";
  // Both for a SupposedRequest that is not malformed.
  std::optional<Authority> authority = std::nullopt;  // Scheme::tcp: of a tcp:// URL
  std::string path = "/";
  std::string query{};
  HeaderList fields{};
  std::optional<std::uint64_t> body_bytes = 0;
  std::string malformed{};  // why the gateway refuses it before any rule is asked; else empty

  // Borrows from this. Only where it is not malformed.
  RequestFacts facts() const;
};

// `https://`, `http://` or `tcp://host:port`. On failure, what no client could send: a sentence that
// quotes the text and says the correction.
std::variant<SupposedRequest, std::string> read_supposed_request(std::string_view url,
                                                                 std::string_view method);
// Empty, or the same kind of sentence.
std::string add_field(SupposedRequest& question, std::string_view name, std::string_view value);

}  // namespace warder
