#include "secrets/helper_reply.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/static_resource.hpp>
#include <new>

#include "secrets/source.hpp"

namespace warder {
namespace {

namespace json = boost::json;
using Found = std::variant<WipedBytes, std::string>;

constexpr std::size_t kMostAnswer = 64 * 1024;

WipedBytes copy_of(std::string_view text) { return {text.begin(), text.end()}; }

// The last of several counts, as git has it; an empty line ends the answer.
Found git_password(std::string_view answer) {
  bool found = false;
  std::string_view password;
  while (!answer.empty()) {
    const std::size_t end = std::min(answer.find('\n'), answer.size());
    std::string_view line = answer.substr(0, end);
    answer.remove_prefix(std::min(end + 1, answer.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) break;
    static constexpr std::string_view kKey = "password=";
    if (!line.starts_with(kKey)) continue;
    found = true;
    password = line.substr(kKey.size());
  }
  if (!found) return "knows no password for this host";
  return copy_of(password);
}

// The parser works in memory of ours, which is wiped: nothing of the answer is left in the heap.
Found docker_secret(std::string_view answer) {
  // Enough for what a helper says; an answer of many small parts does not fit, and is none.
  const std::size_t room = 8 * answer.size() + 8192;
  WipedVector<unsigned char> values(room);
  WipedVector<unsigned char> work(room);
  json::static_resource value_memory(values.data(), values.size());
  json::static_resource work_memory(work.data(), work.size());
  try {
    json::parser parser(&work_memory);
    parser.reset(&value_memory);
    json::error_code error;
    parser.write(answer, error);
    if (error) return "did not answer with JSON";
    const json::value value = parser.release();
    const json::object* object = value.if_object();
    const json::value* secret = object == nullptr ? nullptr : object->if_contains("Secret");
    if (secret == nullptr || !secret->is_string()) return "answered without a \"Secret\"";
    return copy_of(secret->get_string());
  } catch (const std::bad_alloc&) {
    return "answered with more than fits";
  }
}

}  // namespace

std::string_view to_string(HelperFormat format) {
  switch (format) {
    case HelperFormat::git_credential: return "git-credential";
    case HelperFormat::docker_credential: return "docker-credential";
    case HelperFormat::plain: break;
  }
  return "plain";
}

std::string helper_question(HelperFormat format, const std::string& host) {
  switch (format) {
    case HelperFormat::git_credential: return "protocol=https\nhost=" + host + "\n\n";
    case HelperFormat::docker_credential: return host + "\n";
    case HelperFormat::plain: break;
  }
  return {};
}

Found helper_value(HelperFormat format, std::string_view answer) {
  if (answer.size() > kMostAnswer) return "answered with more than fits";
  switch (format) {
    case HelperFormat::git_credential: return git_password(answer);
    case HelperFormat::docker_credential: return docker_secret(answer);
    case HelperFormat::plain: break;
  }
  return copy_of(without_line_break(answer));
}

}  // namespace warder
