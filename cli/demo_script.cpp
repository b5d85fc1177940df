#include "cli/demo_script.hpp"

#include <array>

namespace warder {
namespace {

// Kept short enough for one column of the page. "processes" looks for the value where programs leave it behind.
constexpr std::array<DemoCommand, 9> kCommands{{
    {"environment", "env"},
    {"processes", "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'"},
    {"echo",
     "curl https://api.demo.test/echo \\\n"
     "  -H \"Authorization: Bearer $GITHUB_TOKEN\""},
    {"whoami",
     "curl https://api.demo.test/whoami \\\n"
     "  -H \"Authorization: Bearer $GITHUB_TOKEN\""},
    {"stream",
     "curl -N https://api.demo.test/stream \\\n"
     "  -H \"Authorization: Bearer $GITHUB_TOKEN\""},
    {"error",
     "curl -i https://api.demo.test/error \\\n"
     "  -H \"Authorization: Bearer $GITHUB_TOKEN\""},
    {"path",
     "curl -i https://api.demo.test/admin/keys \\\n"
     "  -H \"Authorization: Bearer $GITHUB_TOKEN\""},
    {"address", "curl -i --noproxy '*' http://93.184.216.34/"},
    {"lookup", "getent hosts paste.example"},
}};

}  // namespace

std::span<const DemoCommand> demo_commands() { return kCommands; }

std::string demo_script() {
  std::string script =
      "# Written by `warder demo`.\n"
      "curl() { command curl --silent --show-error --max-time 20 \"$@\"; }\n";
  for (const DemoCommand& command : kCommands) {
    const std::string step(command.step);
    script += "{ " + std::string(command.text) + "\n} </dev/null >" + step + ".out 2>&1\n";
    script += "echo $? >" + step + ".code\n";
  }
  return script;
}

std::string demo_config(std::string_view origin_address, std::string_view ca_file) {
  const std::string host(kDemoHost);
  std::string yaml = "version: 1\nsecrets:\n  token: {source: {env: ";
  yaml += std::string(kDemoSource) + "}, placeholder: {env: " + kDemoVariable + "}}\n";
  yaml +=
      "policies:\n  demo:\n    rules:\n      - {name: api, hosts: [" + host +
      "], ports: [443], methods: [GET], paths: [/echo, /whoami, /stream, /error], action: allow}\n";
  yaml += "    grants:\n      - {secret: token, hosts: [" + host + "]}\n";
  yaml += "gateway:\n  upstream:\n    ca: [" + std::string(ca_file) + "]\n    connect_to: {\"" +
          host + ":443\": \"" + std::string(origin_address) + "\"}\n";
  return yaml;
}

}  // namespace warder
