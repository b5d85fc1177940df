// The credentials in the answer of a token endpoint (RFC 6749 section 5.1, RFC 8628 section 3.5), and the same answer with
// others in their places. Pure; everything else in it stays byte for byte.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "secrets/wiped.hpp"

namespace warder {

// Names are compared without regard to case, '_' and '-': "accessToken" is "access_token".
inline constexpr std::string_view kTokenFields[] = {"access_token", "refresh_token", "id_token",
                                                    "token"};

struct TokenReply {
  struct Token {
    std::string field;  // as kTokenFields, or the operator's list, spells it
    std::size_t begin;  // of the value in the body, as spelt: without quotes
    std::size_t end;
    WipedBytes value;
  };
  std::vector<Token> tokens;  // in the order of the body
  std::optional<std::chrono::seconds> expires_in;
};

enum class TokenReplyForm : std::uint8_t { json, form };

// Finds every token field at any depth; null and empty values are none. The alternative is why the reply must not pass, as
// the end of a sentence: it is not well-formed, a token field is no text, or there is one within a text.
std::variant<TokenReply, std::string> read_token_reply(std::string_view body, TokenReplyForm form,
                                                       const std::vector<std::string>& fields);

// Does a text of any other kind hold one of the fields as the key of JSON, or of a form?
bool names_token(std::string_view text, const std::vector<std::string>& fields);

// What tokens are made of. A text of an origin's own choosing that could stand before another secret ("Bearer ghp_") would, as a
// value to be masked, cover that one's beginning and leave its rest to be seen.
bool is_token_text(std::string_view value);
// "Basic dXNlcjpwYXNz" → "dXNlcjpwYXNz": some servers hand out a whole Authorization field.
std::string_view without_scheme(std::string_view value);

// `instead` has one text for each token, which needs no escape in either form.
std::string with_tokens_replaced(std::string_view body, const TokenReply& reply,
                                 const std::vector<std::string>& instead);

}  // namespace warder
