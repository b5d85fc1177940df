#include "proxy/refusal.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "http/h1_writer.hpp"

namespace warder {
namespace {

bool wants_json(const RequestHead& request) {
  const HeaderField* accept = request.fields.find("accept");
  if (accept == nullptr) return false;
  const std::size_t json = accept->value.find("json");
  const std::size_t text = accept->value.find("text/");
  return json != std::string::npos && (text == std::string::npos || json < text);
}

std::string json_body(const Refusal& refusal) {
  const ReasonInfo& what = info(refusal.reason);
  boost::json::object error{
      {"reason", what.word}, {"status", what.status}, {"message", what.phrase}};
  if (!refusal.detail.empty()) error["detail"] = refusal.detail;
  if (!refusal.rule.empty()) error["rule"] = refusal.rule;
  if (!refusal.suggestion.empty()) error["allow_with"] = refusal.suggestion;
  if (refusal.retry_after) error["retry_after"] = refusal.retry_after->count();
  boost::json::object body{{"error", std::move(error)}};
  return boost::json::serialize(body) + "\n";
}

std::string text_body(const Refusal& refusal) {
  const ReasonInfo& what = info(refusal.reason);
  std::string body = "warder: " + std::string(what.word) + ": " + std::string(what.phrase) + ".\n";
  if (!refusal.detail.empty()) body += "  " + refusal.detail + "\n";
  if (!refusal.rule.empty()) body += "  rule: " + refusal.rule + "\n";
  if (!refusal.suggestion.empty()) body += "  to allow it: " + refusal.suggestion + "\n";
  return body;
}

std::string_view status_phrase(int status) {
  switch (status) {
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 407: return "Proxy Authentication Required";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 421: return "Misdirected Request";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Internal Server Error";
  }
}

}  // namespace

RefusalMessage refusal_message(const Refusal& refusal, const RequestHead& request) {
  const ReasonInfo& what = info(refusal.reason);
  const bool json = wants_json(request);
  RefusalMessage message;
  std::string body = json ? json_body(refusal) : text_body(refusal);
  ResponseHead& head = message.head;
  head.status = what.status;
  head.phrase = status_phrase(what.status);
  head.fields.add("Warder-Reason", std::string(what.word));
  head.fields.add("Proxy-Status", "warder; error=" + std::string(what.proxy_error) +
                                      "; details=\"" + std::string(what.word) + "\"");
  head.fields.add("Content-Type", json ? "application/json" : "text/plain; charset=utf-8");
  head.fields.add("Content-Length", std::to_string(body.size()));
  head.fields.add("Cache-Control", "no-store");
  if (refusal.retry_after)
    head.fields.add("Retry-After", std::to_string(refusal.retry_after->count()));
  // What a client's own refreshing goes by (RFC 6750 section 3).
  if (what.status == 401) head.fields.add("WWW-Authenticate", "Bearer error=\"invalid_token\"");
  if (what.status == 407) head.fields.add("Proxy-Authenticate", "Basic realm=\"warder\"");
  if (request.method != "HEAD") message.body = std::move(body);
  return message;
}

std::string write_refusal(const Refusal& refusal, const RequestHead& request, Persist persist) {
  RefusalMessage message = refusal_message(refusal, request);
  if (persist == Persist::close) message.head.fields.add("Connection", "close");
  std::string out;
  write_head(out, message.head);
  return out + message.body;
}

}  // namespace warder
