// What stands in audit records, for those who only read them: a key that is missing or of another kind reads as empty.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "audit/format.hpp"

namespace warder {

inline std::string text_in(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

inline std::uint64_t number_in(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  if (value == nullptr) return 0;
  if (value->is_uint64()) return value->get_uint64();
  return value->is_int64() && value->get_int64() > 0
             ? static_cast<std::uint64_t>(value->get_int64())
             : 0;
}

inline std::int64_t signed_in(const boost::json::object& object, std::string_view key,
                              std::int64_t otherwise = 0) {
  const boost::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_int64() ? value->get_int64() : otherwise;
}

inline std::vector<const boost::json::object*> objects_in(const boost::json::object& object,
                                                          std::string_view key) {
  std::vector<const boost::json::object*> out;
  const boost::json::value* list = object.if_contains(key);
  if (list == nullptr || !list->is_array()) return out;
  for (const boost::json::value& item : list->get_array())
    if (item.is_object()) out.push_back(&item.get_object());
  return out;
}

inline std::vector<std::string> texts_in(const boost::json::object& object, std::string_view key) {
  std::vector<std::string> out;
  const boost::json::value* list = object.if_contains(key);
  if (list == nullptr || !list->is_array()) return out;
  for (const boost::json::value& item : list->get_array())
    if (item.is_string()) out.emplace_back(item.get_string());
  return out;
}

// The host of "https://api.test:8443", "api.test:443" and "[::1]:80"; of a name, the name.
inline std::string host_in(std::string_view authority) {
  const std::size_t scheme = authority.find("://");
  if (scheme != std::string_view::npos) authority.remove_prefix(scheme + 3);
  if (authority.starts_with('[')) return std::string(authority.substr(0, authority.find(']') + 1));
  return std::string(authority.substr(0, authority.find(':')));
}

// What no honest program does: a placeholder where no grant allows it, or somebody else's credential.
inline bool is_tripwire(std::string_view reason) {
  return reason.starts_with("placeholder_") || reason == "foreign_credential";
}

}  // namespace warder
