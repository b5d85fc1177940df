#include "sandbox-launcher/browser_policies.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string_view>

namespace warder {
namespace {

namespace json = boost::json;

// The object at `key`, made where there is none.
json::object& object_at(json::object& in, std::string_view key) {
  json::value& value = in[key];
  if (!value.is_object()) value = json::object();
  return value.as_object();
}

json::object parsed(const std::string& text) {
  boost::system::error_code failed;
  json::value value = json::parse(text, failed);
  return !failed && value.is_object() ? std::move(value.as_object()) : json::object();
}

}  // namespace

std::string chromium_policy(const std::string& pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  json::array certificates;
  std::string_view rest = pem;
  for (std::size_t begin; (begin = rest.find(kBegin)) != std::string_view::npos;) {
    rest.remove_prefix(begin + kBegin.size());
    const std::size_t end = rest.find(kEnd);
    if (end == std::string_view::npos) break;
    std::string base64(rest.substr(0, end));
    std::erase(base64, '\n');
    certificates.emplace_back(base64);
    rest.remove_prefix(end);
  }
  return json::serialize(json::object{{"CACertificates", std::move(certificates)}}) + '\n';
}

std::string firefox_policies(const std::string& policies, const std::string& certificate) {
  json::object all = parsed(policies);
  json::object& certificates = object_at(object_at(all, "policies"), "Certificates");
  json::value& install = certificates["Install"];
  if (!install.is_array()) install = json::array();
  install.as_array().emplace_back(certificate);
  return json::serialize(all) + '\n';
}

}  // namespace warder
