#include "cli/approve_command.hpp"

#include <termios.h>
#include <unistd.h>

#include <iostream>
#include <set>
#include <stdexcept>
#include <thread>

#include "admin/client.hpp"
#include "cli/approval_service.hpp"
#include "cli/guard.hpp"
#include "cli/open_questions.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t kShortestPrefix = 4;
constexpr std::chrono::milliseconds kLook{500};
constexpr const char* kUsualTime = "10m";

std::vector<fs::path> sockets_of(const ApproveArgs& args) {
  if (args.gateway.empty()) return gateway_sockets();
  return {fs::absolute(args.gateway)};
}

// A gateway that was named has to be there.
std::vector<OpenQuestion> all_open(const ApproveArgs& args) {
  if (!args.gateway.empty() && ask_admin(fs::absolute(args.gateway), "GET",
                                         std::string(kApprovalsPath), "", kListingPatience)
                                       .status == 0)
    throw ConfigError("--gateway " + args.gateway + ": no gateway listens there");
  return open_questions(sockets_of(args));
}

enum class Said : std::uint8_t { once, rule, no };

// False: it was not open any more, which is said.
bool send(const OpenQuestion& question, Said said, const std::string& time, Json form) {
  json::object answer{{"answer", said == Said::no ? "deny" : "allow"}, {"via", "cli"}};
  if (said != Said::no) {
    answer["for"] = said == Said::once ? "once" : time;
    answer["count"] = question.count;
  }
  const std::string target = std::string(kApprovalsPath) + "/" + question.id;
  const AdminAnswer reply = ask_admin(question.socket, "POST", target, json::serialize(answer));
  if (reply.status != 200) {
    say(reply.status == 0 ? "the gateway has gone" : reply.body.substr(0, reply.body.find('\n')));
    return false;
  }
  if (form == Json::yes) std::cout << reply.body << std::flush;
  return true;
}

OpenQuestion the_one(const ApproveArgs& args) {
  if (args.id.size() < kShortestPrefix)
    throw ConfigError("ID is too short: give at least 4 characters of it");
  std::vector<OpenQuestion> found;
  for (OpenQuestion& question : all_open(args)) {
    if (question.id.starts_with(args.id)) found.push_back(std::move(question));
  }
  if (found.empty())
    throw ConfigError("no such question is open: `warder approve` lists those that are");
  if (found.size() > 1) throw ConfigError("several questions begin so: give more of the ID");
  return std::move(found.front());
}

// nullopt: let it be for now. On a terminal.
std::optional<Said> ask_person(const std::string& time) {
  for (;;) {
    (void)::tcflush(STDIN_FILENO, TCIFLUSH);  // what was typed before is no answer to this
    std::cout << "  allow it? [y]es, once · [n]o · [r]ule, for " << time
              << " · [s]kip: " << std::flush;
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    if (line == "y" || line == "yes") return Said::once;
    if (line == "n" || line == "no") return Said::no;
    if (line == "r" || line == "rule") return Said::rule;
    if (line == "s" || line == "skip") return std::nullopt;
  }
}

int list(const ApproveArgs& args) {
  const bool asks =
      args.json == Json::no && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  const std::string time = args.time.empty() ? kUsualTime : args.time;
  std::set<std::string> seen;
  for (;; std::this_thread::sleep_for(kLook)) {
    std::vector<OpenQuestion> open = all_open(args);
    std::set<std::string> still;
    json::array fresh;
    for (const OpenQuestion& question : open) {
      still.insert(question.id);
      if (seen.contains(question.id)) continue;
      fresh.push_back(question.all);
      if (args.json == Json::no) std::cout << text_of(question) << std::flush;
      const auto said = asks ? ask_person(time) : std::nullopt;
      if (said) (void)send(question, *said, time, args.json);
      if (asks && !std::cin) return 0;
    }
    if (args.json == Json::yes && (!args.watch || !fresh.empty()))
      std::cout << json::serialize(fresh) << std::endl;
    if (!args.watch && args.json == Json::no && open.empty())
      std::cout << "nothing waits for an answer\n" << std::flush;
    if (!args.watch || !std::cout) return 0;
    seen = std::move(still);
  }
}

int approve_or_throw(const ApproveArgs& args) {
  if (!args.time.empty() && !approval_time_of(args.time))
    throw ConfigError("--for " + args.time + ": write a time from 1s to 24h, such as 10m");
  if (args.deny && !args.time.empty()) throw ConfigError("--deny goes without --for");
  if (args.id.empty()) {
    if (args.deny) throw ConfigError("--deny needs the ID of a question");
    return list(args);
  }
  if (args.watch) throw ConfigError("--watch goes without an ID");
  const OpenQuestion question = the_one(args);
  const Said said = args.deny ? Said::no : args.time.empty() ? Said::once : Said::rule;
  if (args.json == Json::no) std::cout << text_of(question) << std::flush;
  if (!send(question, said, args.time, args.json)) return 2;
  if (args.json == Json::no)
    std::cout << (said == Said::no ? "denied"
                  : said == Said::once
                      ? "allowed once"
                      : "allowed, and what else the rule asks about, for " + args.time)
              << std::endl;
  return 0;
}

}  // namespace

int approve_command(const ApproveArgs& args) {
  try {
    return approve_or_throw(args);
  } catch (const ConfigError& error) {
    say(error.what());
    return 2;
  } catch (const std::exception& error) {
    say(error.what());
    return 125;
  }
}

}  // namespace warder
