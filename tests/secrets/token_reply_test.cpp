#include "secrets/token_reply.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

namespace {

std::vector<std::string> usual() { return {std::begin(kTokenFields), std::end(kTokenFields)}; }

// "field=value ..." and the expiry, or why not.
std::string seen(std::string_view body, TokenReplyForm form = TokenReplyForm::json) {
  const auto read = read_token_reply(body, form, usual());
  if (const auto* why = std::get_if<std::string>(&read)) return *why;
  const auto& reply = std::get<TokenReply>(read);
  std::string text;
  for (const auto& token : reply.tokens)
    text += token.field + "=" + std::string(as_view(token.value)) + " ";
  if (reply.expires_in) text += std::to_string(reply.expires_in->count());
  return text;
}

}  // namespace

TEST_CASE("the tokens of an OAuth reply are found, wherever they lie in it") {
  CHECK(seen(R"({"access_token":"2YotnFZFEjr1zCsicMWpAA","token_type":"example","expires_in":3600,
      "refresh_token":"tGzv3JOkF0XG5Qx2TlKWIA"})") ==
        "access_token=2YotnFZFEjr1zCsicMWpAA refresh_token=tGzv3JOkF0XG5Qx2TlKWIA 3600");
  CHECK(seen(R"({"ok":true,"authed_user":{"id":"U1","access_token":"xoxp-1","expires_in":"43200"},
      "access_token":"xoxb-2"})") == "access_token=xoxp-1 access_token=xoxb-2 43200");
  CHECK(seen(R"([{"accessToken":"a1"},{"ACCESS-TOKEN":"a2"}])") ==
        "access_token=a1 access_token=a2 ");
  CHECK(seen(R"({"access_token":"a\/b\u002bc\ud83d\ude00\"\\"})") ==
        "access_token=a/b+c\xf0\x9f\x98\x80\"\\ ");
  CHECK(seen(R"({"id_token":null,"refresh_token":"","access_token":"x"})") == "access_token=x ");
  CHECK(seen(R"({"access_token":"one","access_token":"two"})") ==
        "access_token=one access_token=two ");
  CHECK(seen(R"({"\u0061ccess_token":"spelt otherwise"})") == "access_token=spelt otherwise ");
  CHECK(seen(R"({"error":"authorization_pending","error_description":"no access_token yet"})")
            .empty());
  CHECK(seen("access_token=gho_abc&scope=repo&token_type=bearer", TokenReplyForm::form) ==
        "access_token=gho_abc ");
  CHECK(seen("a=1&access%5Ftoken=x%2By+z&expires_in=28800&refresh_token=r\n",
             TokenReplyForm::form) == "access_token=x+y z refresh_token=r 28800");
}

TEST_CASE("a reply in which a token could hide must not pass") {
  for (const char* body :
       {R"({"access_token":{"value":"x"}})", R"({"access_token":["x"]})", R"({"token":7})",
        R"({"data":"{\"access_token\":\"x\"}"})", R"({"data":"access_token=x&y=1"})",
        R"({"data":"{'accessToken':'x'}"})"}) {
    INFO(body);
    CHECK(seen(body).find("token") != std::string::npos);
    CHECK(seen(body).find('=') == std::string::npos);
  }
  for (const char* body :
       {"", "{", "{}x", R"({"access_token":"x")", R"({"access_token":"x",})", R"({'a':1})",
        "{\"access_token\":\"x\ny\"}", R"({"a":01})", R"({"a":+1})", R"({"a":1.})", R"({"a":tru})",
        R"({"a":"\x"})", R"({"a":"\u12"})", "\xef\xbb\xbf{}"}) {
    INFO(body);
    CHECK((seen(body) == "is no JSON" || seen(body) == "goes on behind its end"));
  }
  CHECK(seen(std::string(100, '[') + std::string(100, ']')) == "is nested too deeply");
  CHECK(seen("data=access_token%3Dx", TokenReplyForm::form) == "has a token field within a text");
}

TEST_CASE("only the tokens are replaced") {
  const std::string body =
      "{ \"access_token\" : \"a\\/1\",\t\"x\":[1, 2.50, \"\\u00e9\"] , \"refresh_token\":\"b\"}\n";
  const auto reply = std::get<TokenReply>(read_token_reply(body, TokenReplyForm::json, usual()));
  CHECK(
      with_tokens_replaced(body, reply, {"ONE", "TWO"}) ==
      "{ \"access_token\" : \"ONE\",\t\"x\":[1, 2.50, \"\\u00e9\"] , \"refresh_token\":\"TWO\"}\n");
  const std::string pairs = "token=a%20b&x=y&&access_token=c";
  const auto form = std::get<TokenReply>(read_token_reply(pairs, TokenReplyForm::form, usual()));
  CHECK(with_tokens_replaced(pairs, form, {"ONE", "TWO"}) == "token=ONE&x=y&&access_token=TWO");
}

TEST_CASE("a token is no text that could stand before another secret") {
  for (const char* token :
       {"gho_16C7e42F292c6912E7710c838347Ae178B4a", "ya29.a0AfH6SMBx-_~", "eyJh.eyJz.c2ln",
        "dXNlcjpwYXNz==", "12345|abcDEF", "Basic dXNlcjpwYXNzd29yZA==", "x%2Fy+z/1"})
    CHECK(is_token_text(token));
  for (const char* text : {"Authorization: Bearer ghp_", "Bearer ghp_", "{\"token\":\"ghp_",
                           "access_token=ghp_", "x-access-token:ghp_",
                           "Bearer Bearer dXNlcjpwYXNzd29yZA==", " leading-space-token", "a\\b"}) {
    INFO(text);
    CHECK_FALSE(is_token_text(text));
  }
}

TEST_CASE("every beginning of a reply is refused, none is read beyond its end") {
  const std::string body =
      R"({"access_token":"a\u002b\"1","expires_in":1e3,"x":[true,null,{"id_token":"b"}]})";
  CHECK(seen(body) == "access_token=a+\"1 id_token=b ");
  for (std::size_t size = 0; size < body.size(); ++size) {
    const std::string part = body.substr(0, size);
    CHECK(seen(part) == "is no JSON");
  }
}
