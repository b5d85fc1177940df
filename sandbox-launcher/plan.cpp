#include "sandbox-launcher/plan.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <stdexcept>

#include "base/encoding.hpp"

namespace warder {
namespace {

namespace json = boost::json;

json::array paths_to_json(const std::vector<std::filesystem::path>& paths) {
  json::array out;
  for (const auto& path : paths) out.emplace_back(path.string());
  return out;
}

json::array home_to_json(const std::vector<HomeTree>& home) {
  json::array out;
  for (const HomeTree& tree : home) {
    out.push_back(json::object{{"at", tree.at.string()},
                               {"source", tree.source.string()},
                               {"writable", tree.access == HomeTree::Access::read_write}});
  }
  return out;
}

json::array texts_to_json(const std::vector<ShownText>& texts) {
  json::array out;
  for (const ShownText& each : texts)
    out.push_back(json::object{{"path", each.path.string()}, {"text", each.text}});
  return out;
}

json::array links_to_json(const std::vector<HomeLink>& links) {
  json::array out;
  for (const HomeLink& each : links)
    out.push_back(json::object{{"at", each.at.string()}, {"target", each.target.string()}});
  return out;
}

std::string text_of(const json::object& from, std::string_view key) {
  return std::string(from.at(key).as_string());
}

std::vector<std::filesystem::path> paths_of(const json::object& from, std::string_view key) {
  std::vector<std::filesystem::path> paths;
  for (const json::value& each : from.at(key).as_array())
    paths.emplace_back(std::string(each.as_string()));
  return paths;
}

std::vector<HomeTree> home_of(const json::object& from) {
  std::vector<HomeTree> home;
  for (const json::value& each : from.at("home").as_array()) {
    const json::object& tree = each.as_object();
    home.push_back({text_of(tree, "at"), text_of(tree, "source"),
                    tree.at("writable").as_bool() ? HomeTree::Access::read_write
                                                  : HomeTree::Access::read_only});
  }
  return home;
}

void read_trees(const json::object& from, SandboxSpec& spec) {
  spec.protected_paths = paths_of(from, "protected");
  spec.masked = paths_of(from, "masked");
  for (const json::value& each : from.at("shown_texts").as_array())
    spec.shown_texts.push_back(
        {text_of(each.as_object(), "path"), text_of(each.as_object(), "text")});
  for (const json::value& each : from.at("home_links").as_array())
    spec.home_links.push_back(
        {text_of(each.as_object(), "at"), text_of(each.as_object(), "target")});
  spec.workspace_access = from.at("workspace_writable").as_bool() ? WorkspaceAccess::read_write
                                                                  : WorkspaceAccess::read_only;
  spec.caller_home = from.at("home_tools").as_bool() ? CallerHome::tools : CallerHome::hidden;
}

}  // namespace

std::string to_json(const LaunchPlan& plan) {
  const SandboxSpec& spec = plan.spec;
  json::array argv;
  for (const std::string& each : spec.argv) argv.emplace_back(each);
  json::object env;
  for (const auto& [name, value] : spec.env) env[name] = value;
  json::object out{{"version", kLaunchProtocol},
                   {"argv", std::move(argv)},
                   {"env", std::move(env)},
                   {"workspace", spec.workspace.string()},
                   {"read_only", paths_to_json(spec.read_only)},
                   {"read_write", paths_to_json(spec.read_write)},
                   {"home", home_to_json(spec.home)},
                   {"covered", paths_to_json(spec.covered)},
                   {"frozen", paths_to_json(spec.frozen)},

                   {"protected", paths_to_json(spec.protected_paths)},
                   {"masked", paths_to_json(spec.masked)},
                   {"shown_texts", texts_to_json(spec.shown_texts)},
                   {"home_links", links_to_json(spec.home_links)},
                   {"workspace_writable", spec.workspace_access == WorkspaceAccess::read_write},
                   {"home_tools", spec.caller_home == CallerHome::tools},
                   {"as_root", spec.as_root == AsRoot::yes},

                   {"executable_dir", spec.executable_dir.string()},
                   {"bundle_pem", spec.bundle_pem},
                   {"ca_pem", spec.ca_pem},
                   {"ca_hash", spec.ca_hash},

                   {"added_pem", spec.added_pem},
                   {"java_store", base64_encode(spec.java_store)},
                   {"clone", spec.clone.string()},

                   {"caller_home", plan.caller_home},
                   {"caller_path", plan.caller_path},
                   {"sudo_uid", plan.sudo_uid},
                   {"foreground", plan.foreground == Foreground::yes},
                   {"bounds", plan.inside.str()}};
  return json::serialize(out);
}

LaunchPlan plan_from_json(std::string_view text) {
  // Names of files and arguments are bytes, whatever they spell.
  json::parse_options bytes;
  bytes.allow_invalid_utf8 = true;
  const json::value parsed = json::parse(text, {}, bytes);
  const json::object& from = parsed.as_object();
  if (from.at("version").as_int64() != kLaunchProtocol) {
    throw std::runtime_error(
        "warder and warder-sandbox are of different versions: install them together");
  }
  LaunchPlan plan;
  SandboxSpec& spec = plan.spec;
  for (const json::value& each : from.at("argv").as_array())
    spec.argv.emplace_back(each.as_string());
  for (const auto& [name, value] : from.at("env").as_object()) {
    spec.env[std::string(name)] = std::string(value.as_string());
  }
  spec.workspace = text_of(from, "workspace");
  spec.read_only = paths_of(from, "read_only");
  spec.read_write = paths_of(from, "read_write");
  spec.home = home_of(from);
  spec.covered = paths_of(from, "covered");
  spec.frozen = paths_of(from, "frozen");

  read_trees(from, spec);
  spec.as_root = from.at("as_root").as_bool() ? AsRoot::yes : AsRoot::no;

  spec.executable_dir = text_of(from, "executable_dir");
  spec.bundle_pem = text_of(from, "bundle_pem");
  spec.ca_pem = text_of(from, "ca_pem");
  spec.ca_hash = text_of(from, "ca_hash");

  spec.added_pem = text_of(from, "added_pem");
  spec.java_store = base64_decode(text_of(from, "java_store")).value();
  spec.clone = text_of(from, "clone");

  plan.caller_home = text_of(from, "caller_home");
  plan.caller_path = text_of(from, "caller_path");
  plan.sudo_uid = text_of(from, "sudo_uid");
  plan.foreground = from.at("foreground").as_bool() ? Foreground::yes : Foreground::no;
  const auto inside = InsideBounds::parse(text_of(from, "bounds"));
  if (!inside) throw std::runtime_error("the plan's bounds are malformed");
  plan.inside = *inside;
  if (spec.argv.empty()) throw std::runtime_error("the plan names no command");
  return plan;
}

}  // namespace warder
