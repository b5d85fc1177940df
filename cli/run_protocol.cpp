#include "cli/run_protocol.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <stdexcept>

#include "base/encoding.hpp"
#include "sandbox-launcher/channel.hpp"

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

json::object bounds_to_json(const Bounds& bounds) {
  json::object object;
  for (std::size_t i = 0; i < kBounds; ++i) {
    const auto bound = static_cast<Bound>(i);
    if (const auto value = bounds.find(bound)) object[to_string(bound)] = *value;
  }
  return object;
}

// Throws std::out_of_range for a bound that is not known: another version must not overlook it.
Bound bound_from(std::string_view key) {
  const auto bound = bound_named(key);
  if (!bound) throw std::out_of_range("bound");
  return *bound;
}

Bounds bounds_from(const json::object& from) {
  Bounds bounds;
  for (const auto& [key, value] : from.at("bounds").as_object())
    bounds.set(bound_from(key), value.to_number<std::uint64_t>());
  return bounds;
}

json::array held_to_json(const std::vector<HeldBound>& bounds) {
  json::array array;
  for (const HeldBound& held : bounds) {
    array.push_back(json::object{{"bound", to_string(held.bound)},
                                 {"value", held.value},
                                 {"mechanism", held.mechanism},
                                 {"used", held.used},
                                 {"end", static_cast<int>(held.end)}});
  }
  return array;
}

std::vector<HeldBound> held_from(const json::object& from) {
  std::vector<HeldBound> bounds;
  if (!from.contains("bounds")) return bounds;
  for (const json::value& item : from.at("bounds").as_array()) {
    const json::object& held = item.as_object();
    const int end = held.at("end").to_number<int>();
    if (end < 0 || end > static_cast<int>(HeldBound::End::ended) || bounds.size() == kBounds)
      throw std::out_of_range("end");
    bounds.push_back({bound_from(text(held, "bound")), held.at("value").to_number<std::uint64_t>(),
                      text(held, "mechanism"), held.at("used").to_number<std::uint64_t>(),
                      static_cast<HeldBound::End>(end)});
  }
  return bounds;
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

std::string decoded(const json::value& from) {
  auto bytes = base64_decode(from.as_string());
  if (!bytes) throw std::out_of_range("not in base64");
  return std::move(*bytes);
}

json::object to_json(const FileChanges& files) {
  json::array changes;
  for (const audit::FileChanged& each : files.changes)
    changes.push_back(json::array{base64_encode(each.path), each.change});
  return json::object{{"changes", std::move(changes)},
                      {"git_objects", files.git_objects},
                      {"more", files.more},
                      {"partial", files.partial},
                      {"cloned", files.cloned}};
}

FileChanges file_changes_from(const json::object& from) {
  FileChanges files;
  for (const json::value& each : from.at("changes").as_array()) {
    const json::array& pair = each.as_array();
    if (files.changes.size() >= FileListing::kMostChanges) throw std::out_of_range("too many");
    files.changes.push_back({decoded(pair.at(0)), std::string(pair.at(1).as_string())});
  }
  files.git_objects = from.at("git_objects").to_number<std::uint64_t>();
  files.more = from.at("more").to_number<std::uint64_t>();
  files.partial = from.at("partial").as_bool();
  files.cloned = from.at("cloned").as_bool();
  return files;
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
  return json::object{{"session", welcome.session},
                      {"ca_pem", welcome.ca_pem},
                      {"ca_hash", welcome.ca_hash},
                      {"placeholders", map(welcome.placeholders)},
                      {"covered", list(welcome.covered)},
                      {"frozen", list(welcome.frozen)},
                      {"bounds", bounds_to_json(welcome.bounds)}};
}

json::value to_json(const RunListeners& listeners) {
  return json::object{{"port", listeners.port},
                      {"names", list(listeners.names)},
                      {"bounds", held_to_json(listeners.bounds)}};
}

json::value to_json(const RunExit& exit) {
  return json::object{{"exit", exit.code}, {"bounds", held_to_json(exit.bounds)}};
}

json::value to_json(const RunReport& report) {
  json::array packets;
  for (const std::string& each : report.packets) packets.emplace_back(base64_encode(each));
  json::object out{{"packets", std::move(packets)}};
  if (report.files) out["files"] = to_json(*report.files);
  return out;
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
                      texts(object, "covered"), texts(object, "frozen"),
                      bounds_from(object)};
  });
}

std::optional<RunListeners> run_listeners_from(const json::value& from) {
  return guarded_read(from, [](const json::object& object) {
    return RunListeners{object.at("port").to_number<std::uint16_t>(), texts(object, "names"),
                        held_from(object)};
  });
}

std::optional<RunExit> run_exit_from(const json::value& from) {
  return guarded_read(from, [](const json::object& object) {
    return RunExit{object.at("exit").to_number<int>(), held_from(object)};
  });
}

std::optional<RunReport> run_report_from(const json::value& from) {
  return guarded_read(from, [](const json::object& object) {
    RunReport report;
    for (const json::value& each : object.at("packets").as_array())
      report.packets.push_back(decoded(each));
    if (const json::value* files = object.if_contains("files"))
      report.files = file_changes_from(files->as_object());
    return report;
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

RunChannel::RunChannel(int socket) : socket_(socket) {
  const timeval limit{kPatience.count(), 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool RunChannel::send(const json::value& what) {
  const std::string text = json::serialize(what);
  if (text.size() > kMaxMessage) return false;
  const std::scoped_lock lock(mutex_);
  // After half a message nothing can follow.
  is_gone_ = is_gone_ || !send_message(socket_, text);
  return !is_gone_;
}

}  // namespace warder
