#include "cli/record_text.hpp"

#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <string_view>

#include "audit/json_text.hpp"
#include "cli/record_fields.hpp"

namespace warder {
namespace {

using audit::ParsedLine;

constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";

std::string with(std::string_view before, const std::string& value) {
  return value.empty() ? "" : std::string(before) + value;
}

std::string by_rule(const ParsedLine& line) {
  return with("  by ", line.text("rule")) + with(" at ", line.text("where"));
}

std::string items(const ParsedLine& line, std::string_view list, std::string_view word) {
  std::string out;
  for (const boost::json::object* item : objects_in(line.members, list)) {
    out += out.empty() ? "  " + std::string(word) + ' ' : ", ";
    out += text_in(*item, "name") + with(" in ", text_in(*item, "place"));
    if (const auto count = number_in(*item, "count")) out += " ×" + std::to_string(count);
  }
  return out;
}

std::string of_intent(const ParsedLine& line) {
  const std::string reason = line.text("reason");
  std::string out = line.text("decision") + "  ";
  out += line.text("method").empty() ? line.text("protocol") : line.text("method");
  out += ' ' + line.text("authority") + line.text("path");
  if (reason != "none") out += with("  ", reason);
  return out + by_rule(line) + items(line, "uses", "with");
}

std::string of_receipt(const ParsedLine& line) {
  const auto number = [&](std::string_view key) {
    return std::to_string(line.number(key).value_or(0));
  };
  const std::string reason = line.text("reason");
  std::string out = "end  of #" + number("intent_seq") + ": " + number("status") + ", " +
                    number("bytes_up") + " up, " + number("bytes_down") + " down, " +
                    std::to_string(line.number("total_us").value_or(0) / 1000) + " ms";
  if (reason != "none") out += "  " + reason + with(" of ", line.text("side"));
  return out + items(line, "swapped", "swapped") + items(line, "masked", "masked");
}

std::string of_dns(const ParsedLine& line) {
  const std::string reason = line.text("reason");
  return "dns  " + line.text("name") + with(" ", line.text("qtype")) +
         with(" → ", line.text("answer")) + (reason == "none" ? "" : with("  ", reason)) +
         with("  by ", line.text("rule"));
}

std::string of_checkpoint(const ParsedLine& line) {
  return "checkpoint  over " + std::to_string(line.seq) + " records";
}

bool is_frame(std::string_view key) {
  return key == "v" || key == "seq" || key == "time" || key == "mono_ns" || key == "type" ||
         key == "prev" || key == "session";
}

std::string of_any(const ParsedLine& line) {
  std::string out = line.type + " ";
  for (const auto& [key, value] : line.members) {
    if (is_frame(key)) continue;
    const std::string text =
        value.is_string() ? std::string(value.get_string()) : boost::json::serialize(value);
    if (text.empty() || text == "[]") continue;
    out += ' ' + std::string(key) + '=' + text;
  }
  return out;
}

std::string words_of(const ParsedLine& line) {
  if (line.type == "intent") return of_intent(line);
  if (line.type == "receipt") return of_receipt(line);
  if (line.type == "dns") return of_dns(line);
  if (line.type == "checkpoint") return of_checkpoint(line);
  return of_any(line);
}

std::string_view colour_of(const ParsedLine& line) {
  const std::string reason = line.text("reason");
  const std::string decision = line.text("decision");
  if (decision == "deny" || decision == "timeout" || is_tripwire(reason)) return kRed;
  if (decision == "observe" || (!reason.empty() && reason != "none")) return kYellow;
  if (decision == "allow") return kGreen;
  if (line.type == "checkpoint" || line.type == "close" || line.type == "log") return kDim;
  return "";
}

}  // namespace

Colours colours_of_stdout() {
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  const bool wanted = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  return wanted && !is_dumb ? Colours::yes : Colours::no;
}

std::string record_text(const audit::ParsedLine& line, Colours colours) {
  std::string out = line.stamp.time.substr(0, 23) + "  #" + std::to_string(line.seq);
  const std::string session = line.text("session");
  out += with("  ", session) + "  ";
  out = audit::harmless(out);
  const std::string words = audit::harmless(words_of(line));
  const std::string_view colour = colours == Colours::yes ? colour_of(line) : "";
  return colour.empty() ? out + words : out + std::string(colour) + words + std::string(kPlain);
}

}  // namespace warder
