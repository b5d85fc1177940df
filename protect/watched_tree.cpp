#include "protect/watched_tree.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <stdexcept>

namespace warder {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr int kVersion = 2;

template <class Paths>
json::array strings(const Paths& paths) {
  json::array out;
  for (const auto& path : paths) out.emplace_back(fs::path(path).string());
  return out;
}

json::object identity_to_json(const FileIdentity& file) {
  return {{"device", file.device}, {"inode", file.inode}, {"born", file.born}};
}

json::array identities(const std::map<fs::path, FileIdentity>& files) {
  json::array out;
  for (const auto& [at, file] : files) {
    json::object each = identity_to_json(file);
    each["at"] = at.string();
    out.push_back(std::move(each));
  }
  return out;
}

json::object tree_to_json(const WatchedTree& tree) {
  json::array links;
  for (const auto& [at, target] : tree.links)
    links.push_back(json::object{{"at", at.string()}, {"target", target}});
  json::array allowed;
  for (const std::string& each : tree.allowed) allowed.emplace_back(each);
  return {{"root", tree.root.string()},
          {"identity", identity_to_json(tree.identity)},
          {"absent", strings(tree.absent)},
          {"links", std::move(links)},
          {"present", identities(tree.present)},
          {"masked", identities(tree.masked)},
          {"writable", tree.writable},
          {"repositories", strings(tree.repositories)},
          {"git_files", strings(tree.git_files)},
          {"allowed", std::move(allowed)},
          {"unprotected", strings(tree.unprotected)},
          {"left_out", strings(tree.left_out)}};
}

std::string text_of(const json::object& from, std::string_view key) {
  return std::string(from.at(key).as_string());
}

FileIdentity identity_of(const json::object& from) {
  return {from.at("device").to_number<dev_t>(), from.at("inode").to_number<ino_t>(),
          from.at("born").to_number<std::int64_t>()};
}

template <class Add>
void each_string(const json::object& from, std::string_view key, Add add) {
  for (const json::value& each : from.at(key).as_array()) add(std::string(each.as_string()));
}

WatchedTree tree_of(const json::object& from) {
  WatchedTree tree;
  tree.root = text_of(from, "root");
  tree.identity = identity_of(from.at("identity").as_object());
  each_string(from, "absent", [&](std::string s) { tree.absent.insert(std::move(s)); });
  for (const json::value& each : from.at("links").as_array())
    tree.links[text_of(each.as_object(), "at")] = text_of(each.as_object(), "target");
  for (const json::value& each : from.at("present").as_array())
    tree.present[text_of(each.as_object(), "at")] = identity_of(each.as_object());
  for (const json::value& each : from.at("masked").as_array())
    tree.masked[text_of(each.as_object(), "at")] = identity_of(each.as_object());
  tree.writable = from.at("writable").as_bool();
  each_string(from, "repositories", [&](std::string s) { tree.repositories.insert(std::move(s)); });
  each_string(from, "git_files", [&](std::string s) { tree.git_files.insert(std::move(s)); });
  each_string(from, "allowed", [&](std::string s) { tree.allowed.insert(std::move(s)); });
  each_string(from, "unprotected", [&](std::string s) { tree.unprotected.emplace_back(s); });
  each_string(from, "left_out", [&](std::string s) { tree.left_out.emplace_back(s); });
  return tree;
}

}  // namespace

std::string to_json(const std::vector<WatchedTree>& trees) {
  json::array out;
  for (const WatchedTree& tree : trees) out.push_back(tree_to_json(tree));
  return json::serialize(json::object{{"version", kVersion}, {"trees", std::move(out)}});
}

std::vector<WatchedTree> watched_from_json(std::string_view text) {
  // Names of files are bytes, whatever they spell.
  json::parse_options bytes;
  bytes.allow_invalid_utf8 = true;
  const json::value parsed = json::parse(text, {}, bytes);
  if (parsed.as_object().at("version").as_int64() != kVersion)
    throw std::runtime_error("of another version of Warder");
  std::vector<WatchedTree> trees;
  for (const json::value& each : parsed.as_object().at("trees").as_array())
    trees.push_back(tree_of(each.as_object()));
  return trees;
}

}  // namespace warder
