#include "cli/run_protocol.hpp"

namespace warder {
namespace {

namespace json = boost::json;

json::array list(const std::vector<std::string>& items) {
  return json::array(items.begin(), items.end());
}

json::object map(const std::map<std::string, std::string>& items) {
  json::object object;
  for (const auto& [name, value] : items) object[name] = value;
  return object;
}

// These throw boost::system::system_error or std::out_of_range where the shape is another.
std::string text(const json::object& from, const char* key) {
  return std::string(from.at(key).as_string());
}

std::vector<std::string> texts(const json::object& from, const char* key) {
  std::vector<std::string> items;
  for (const json::value& item : from.at(key).as_array()) items.emplace_back(item.as_string());
  return items;
}

std::map<std::string, std::string> pairs(const json::object& from, const char* key) {
  std::map<std::string, std::string> items;
  for (const auto& [name, value] : from.at(key).as_object())
    items.emplace(name, std::string(value.as_string()));
  return items;
}

template <class Read>
auto guarded_read(const json::value& from, Read read)
    -> std::optional<decltype(read(from.as_object()))> {
  try {
    return read(from.as_object());
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

Reason reason_from(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(Reason::internal); ++i) {
    if (to_string(static_cast<Reason>(i)) == word) return static_cast<Reason>(i);
  }
  return Reason::internal;
}

}  // namespace

json::value to_json(const RunRequest& request) {
  return json::object{{"policy", request.policy},
                      {"command", list(request.command)},
                      {"env", map(request.env)},
                      {"workspace", request.workspace.string()}};
}

json::value to_json(const RunWelcome& welcome) {
  return json::object{
      {"session", welcome.session},       {"ca_pem", welcome.ca_pem},
      {"ca_hash", welcome.ca_hash},       {"placeholders", map(welcome.placeholders)},
      {"covered", list(welcome.covered)}, {"frozen", list(welcome.frozen)}};
}

json::value to_json(const RunListeners& listeners) {
  return json::object{{"port", listeners.port}, {"names", list(listeners.names)}};
}

json::value to_json(const RunEnd& end) {
  json::array denials;
  for (const Denial& denial : end.denials) {
    denials.push_back(json::object{{"reason", to_string(denial.reason)},
                                   {"what", denial.what},
                                   {"suggestion", denial.suggestion},
                                   {"count", denial.count}});
  }
  return json::object{{"denials", std::move(denials)},
                      {"others", end.others},
                      {"exchanges", end.exchanges},
                      {"audit_file", end.audit_file},
                      {"recorded", end.recorded}};
}

json::value to_json(const RunPublished& published) {
  const PublishedEnd& end = published.end;
  return json::object{{"published", json::object{{"flag", published.flag},
                                                 {"port", published.port},
                                                 {"upstream", end.upstream},
                                                 {"up", end.up},
                                                 {"down", end.down},
                                                 {"reason", to_string(end.reason)},
                                                 {"connect_us", end.connect.count()},
                                                 {"total_us", end.total.count()}}}};
}

std::optional<RunRequest> run_request_from(const json::value& from) {
  return guarded_read(from, [](const json::object& object) {
    return RunRequest{text(object, "policy"), texts(object, "command"), pairs(object, "env"),
                      text(object, "workspace")};
  });
}

std::optional<RunWelcome> run_welcome_from(const json::value& from) {
  return guarded_read(from, [](const json::object& object) {
    return RunWelcome{text(object, "session"),  text(object, "ca_pem"),
                      text(object, "ca_hash"),  pairs(object, "placeholders"),
                      texts(object, "covered"), texts(object, "frozen")};
  });
}

std::optional<RunListeners> run_listeners_from(const json::value& from) {
  return guarded_read(from, [](const json::object& object) {
    return RunListeners{object.at("port").to_number<std::uint16_t>(), texts(object, "names")};
  });
}

std::optional<RunEnd> run_end_from(const json::value& from) {
  return guarded_read(from, [](const json::object& object) {
    RunEnd end;
    for (const json::value& item : object.at("denials").as_array()) {
      const json::object& denial = item.as_object();
      end.denials.push_back({reason_from(text(denial, "reason")), text(denial, "what"),
                             text(denial, "suggestion"),
                             denial.at("count").to_number<std::uint64_t>()});
    }
    end.others = object.at("others").to_number<std::uint64_t>();
    end.exchanges = object.at("exchanges").to_number<std::uint64_t>();
    end.audit_file = text(object, "audit_file");
    end.recorded = object.at("recorded").as_bool();
    return end;
  });
}

std::optional<RunPublished> run_published_from(const json::value& from) {
  return guarded_read(from, [](const json::object& object) {
    const json::object& said = object.at("published").as_object();
    RunPublished published;
    published.flag = text(said, "flag");
    published.port = said.at("port").to_number<std::uint16_t>();
    published.end.upstream = text(said, "upstream");
    published.end.up = said.at("up").to_number<std::uint64_t>();
    published.end.down = said.at("down").to_number<std::uint64_t>();
    published.end.reason = reason_from(text(said, "reason"));
    published.end.connect =
        std::chrono::microseconds(said.at("connect_us").to_number<std::int64_t>());
    published.end.total = std::chrono::microseconds(said.at("total_us").to_number<std::int64_t>());
    return published;
  });
}

}  // namespace warder
