// Invariant: a reply is refused with a sentence, or its tokens lie in it one behind the other; with placeholders in their
// places it is read again with just these, the same fields and the same expiry, and all else in it is as it was.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/token_reply.hpp"

namespace {

using namespace warder;

void expect(bool holds) {
  if (!holds) std::abort();
}

void check(std::string_view body, TokenReplyForm form, const std::vector<std::string>& fields) {
  const auto read = read_token_reply(body, form, fields);
  if (const auto* why = std::get_if<std::string>(&read)) {
    expect(!why->empty());
    return;
  }
  const TokenReply& reply = std::get<TokenReply>(read);
  std::vector<std::string> instead;
  std::string rest;  // what stays
  std::size_t at = 0;
  for (const TokenReply::Token& token : reply.tokens) {
    expect(token.begin >= at && token.begin <= token.end && token.end <= body.size());
    expect(!token.value.empty());
    rest += body.substr(at, token.begin - at);
    at = token.end;
    instead.push_back("WARDER~" + std::to_string(instead.size()));
  }
  rest += body.substr(at);

  const std::string out = with_tokens_replaced(body, reply, instead);
  const auto again = read_token_reply(out, form, fields);
  const auto* found = std::get_if<TokenReply>(&again);
  expect(found != nullptr);
  expect(found->tokens.size() == instead.size() && found->expires_in == reply.expires_in);
  std::string kept;
  std::size_t from = 0;
  for (std::size_t i = 0; i < instead.size(); ++i) {
    const TokenReply::Token& token = found->tokens[i];
    expect(as_view(token.value) == instead[i] && token.field == reply.tokens[i].field);
    kept += out.substr(from, token.begin - from);
    from = token.end;
  }
  kept += out.substr(from);
  expect(kept == rest);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of its very length: AddressSanitizer sees a read behind it.
  const std::unique_ptr<char[]> copy = std::make_unique<char[]>(size);
  std::copy_n(data, size, copy.get());
  const std::string_view body(copy.get(), size);
  static const std::vector<std::string> kFields{std::begin(kTokenFields), std::end(kTokenFields)};
  for (const auto form : {TokenReplyForm::json, TokenReplyForm::form}) check(body, form, kFields);
  return 0;
}
