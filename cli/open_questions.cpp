#include "cli/open_questions.hpp"

#include <algorithm>
#include <stdexcept>

#include "admin/client.hpp"
#include "cli/approval_service.hpp"
#include "cli/guard.hpp"
#include "cli/state.hpp"
#include "proxy/shown.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t kMostSockets = 4096;
constexpr std::size_t kLongest = 16 * 1024;

// It was made fit to be shown where it came from, and is once more: control bytes and their like cannot be there, and a
// backslash stays as it is.
std::string clean(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\\', at), text.size());
    out += shown_text(text.substr(at, end - at), kLongest);
    if (end < text.size()) out += '\\';
    at = end + 1;
  }
  return out;
}

std::string text_at(const json::object& from, std::string_view key) {
  const json::value* value = from.if_contains(key);
  return value != nullptr && value->is_string() ? clean(value->get_string()) : std::string();
}

std::int64_t number_at(const json::object& from, std::string_view key) {
  const json::value* value = from.if_contains(key);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

std::string fields_of(const json::object& question) {
  std::string out;
  const json::value* fields = question.if_contains("headers");
  if (fields == nullptr || !fields->is_array()) return out;
  for (const json::value& field : fields->get_array()) {
    if (!field.is_object()) continue;
    out += "    " + text_at(field.get_object(), "name") + ": " +
           text_at(field.get_object(), "value") + "\n";
  }
  return out;
}

std::string body_of(const json::object& question) {
  const json::value* body = question.if_contains("body");
  const json::value* is_shown =
      body != nullptr && body->is_object() ? body->get_object().if_contains("shown") : nullptr;
  if (is_shown == nullptr || *is_shown != json::value(true))
    return "    body not shown: it is long, or of no known length; a yes does not bind it\n";
  const json::object& object = body->get_object();
  const std::int64_t bytes = number_at(object, "bytes");
  if (bytes == 0) return "";
  return "    body, " + std::to_string(bytes) + " bytes: " + text_at(object, "text") + "\n";
}

}  // namespace

std::vector<fs::path> gateway_sockets() {
  std::vector<fs::path> sockets;
  std::error_code ignored;
  const fs::path own = runtime_directory() / "admin.sock";
  if (fs::exists(own, ignored)) sockets.push_back(own);
  for (auto each = fs::directory_iterator(runs_directory(), ignored);
       !ignored && each != fs::directory_iterator(); each.increment(ignored)) {
    const fs::path socket = each->path() / "admin.sock";
    std::error_code none;
    if (sockets.size() < kMostSockets && fs::exists(socket, none)) sockets.push_back(socket);
  }
  std::sort(sockets.begin(), sockets.end());
  return sockets;
}

std::vector<OpenQuestion> open_questions(const std::vector<fs::path>& sockets) {
  std::vector<OpenQuestion> all;
  for (const fs::path& socket : sockets) {
    AdminAnswer answer;
    try {
      answer = ask_admin(socket, "GET", std::string(kApprovalsPath), "", kListingPatience);
    } catch (const std::runtime_error& error) {
      if (sockets.size() == 1) throw;
      say(error.what());  // one that hangs does not hide the others
    }
    if (answer.status == 0) continue;
    boost::system::error_code failed;
    const json::value list = json::parse(answer.body, failed);
    if (answer.status != 200 || failed || !list.is_array())
      throw std::runtime_error(socket.string() + ": " + clean(answer.body));
    for (const json::value& item : list.get_array()) {
      if (!item.is_object()) continue;
      const json::object& object = item.get_object();
      const auto count = static_cast<std::uint64_t>(number_at(object, "count"));
      all.push_back({socket, text_at(object, "id"), count, object});
    }
  }
  return all;
}

std::string text_of(const OpenQuestion& question) {
  const json::object& all = question.all;
  std::string out = text_at(all, "method") + " " + text_at(all, "url") + "\n";
  out += "    id " + question.id.substr(0, 8) + " · rule " + text_at(all, "rule") + " (" +
         text_at(all, "where") + ") · session " + text_at(all, "session") + " · asked " +
         std::to_string(number_at(all, "age_ms") / 1000) + " s ago, " +
         std::to_string(number_at(all, "expires_ms") / 1000) + " s left";
  if (question.count > 1) out += " · " + std::to_string(question.count) + " times";
  out += "\n" + fields_of(all) + body_of(all);
  const json::value* secrets = all.if_contains("secrets");
  if (secrets == nullptr || !secrets->is_array()) return out;
  for (const json::value& use : secrets->get_array()) {
    if (use.is_string()) out += "    uses secret " + clean(use.get_string()) + "\n";
  }
  return out;
}

}  // namespace warder
