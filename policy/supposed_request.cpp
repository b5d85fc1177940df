#include "policy/supposed_request.hpp"

#include <algorithm>

#include "http/chars.hpp"
#include "http/head_reader.hpp"
#include "http/target.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_lower);
  return out;
}

std::string_view host_part(std::string_view url) {
  const std::string_view rest = url.substr(url.find("://") + 3);
  return rest.substr(0, rest.find_first_of("/?"));
}

// What no client ever sends of it, or not as it stands.
std::string fault_of(std::string_view url) {
  const std::string entry = in_quotes(url);
  if (url.find("://") == std::string_view::npos)
    return entry + " has no scheme: write https://, http:// or tcp:// before it";
  if (url.size() > HeadLimits{}.target)
    return entry + " is longer than " + std::to_string(HeadLimits{}.target) +
           " bytes, which no request may be";
  const std::string scheme = lower(url.substr(0, url.find("://")));
  if (scheme != "https" && scheme != "http" && scheme != "tcp")
    return entry + " has another scheme than the gateway knows: write https://, http:// or tcp://";
  if (const auto mark = url.find('#'); mark != std::string_view::npos) {
    return entry + " has a fragment, which clients keep to themselves: write " +
           in_quotes(url.substr(0, mark));
  }
  if (host_part(url).find('@') != std::string_view::npos)
    return entry + " has a user name, which clients send as a field: leave it out";
  return "";
}

std::variant<SupposedRequest, std::string> read_tcp(SupposedRequest question) {
  const std::string_view host = host_part(question.url);
  const std::string_view rest = std::string_view(question.url).substr(6 + host.size());
  if (!rest.empty() && rest != "/")
    return in_quotes(question.url) + " has a path, which raw TCP does not have: leave it out";
  Result<HostPort> parsed = parse_host_port(host);
  if (parsed && !parsed->port)
    return in_quotes(question.url) + " has no port: write it, such as tcp://db.internal:5432";
  if (parsed)
    question.authority = Authority{Scheme::tcp, std::move(parsed->host), *parsed->port};
  else
    question.malformed = "the host is none: " + parsed.error().message();
  return question;
}

SupposedRequest read_http(SupposedRequest question) {
  // CONNECT has a target of another form; that it is never allowed is the policy's to say.
  const std::string form = question.method == "CONNECT" ? "GET" : question.method;
  const Result<HostPort> host = parse_host_port(host_part(question.url));
  auto target = parse_target(form, question.url);
  if (!host) {
    question.malformed = "the host is none: " + host.error().message();
  } else if (!target) {
    question.malformed = "the target is malformed";
  } else if (is_ambiguous_path(target->path)) {
    question.malformed = "the path has dot segments, a backslash, a NUL or a broken escape";
  } else {
    const Scheme scheme = *target->scheme;
    question.authority = Authority{scheme, host->host, host->port.value_or(default_port(scheme))};
    question.path = std::move(target->path);
    question.query = std::move(target->query);
  }
  return question;
}

}  // namespace

RequestFacts SupposedRequest::facts() const {
  return {*authority, method, path, query, &fields, body_bytes};
}

std::variant<SupposedRequest, std::string> read_supposed_request(std::string_view url,
                                                                 std::string_view method) {
  if (!is_method(method))
    return "method " + in_quotes(method) +
           " is none that a request may have: write a word in upper case such as GET";
  if (std::string fault = fault_of(url); !fault.empty()) return fault;
  SupposedRequest question{std::string(url), std::string(method)};
  if (lower(url.substr(0, 6)) == "tcp://") return read_tcp(std::move(question));
  return read_http(std::move(question));
}

std::string add_field(SupposedRequest& question, std::string_view name, std::string_view value) {
  const std::string entry = "header " + in_quotes(name);
  if (name.empty() || !all_in(kTokenChar, name))
    return entry + " is no header field: write a name such as x-environment";
  if (!all_in(kFieldChar, value))
    return entry + " has a control character in its value, which no field may have: remove it";
  if (same_name(name, "host")) return entry + " is what the URL says already: leave it out";
  if (same_name(name, "content-length"))
    return entry + " is how a length is declared: say the body's size instead";
  if (question.fields.size() == HeadLimits{}.fields)
    return entry + " is one more than the " + std::to_string(HeadLimits{}.fields) +
           " fields that a request may have: leave some out";
  question.fields.add(std::string(name), std::string(trim(value)));
  return "";
}

}  // namespace warder
