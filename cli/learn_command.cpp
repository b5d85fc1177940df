#include "cli/learn_command.hpp"

#include <iostream>
#include <optional>

#include "audit/history.hpp"
#include "audit/json_text.hpp"
#include "cli/guard.hpp"
#include "cli/learn_diff.hpp"
#include "cli/learned_policy.hpp"
#include "cli/new_file.hpp"
#include "cli/state.hpp"
#include "config/reader.hpp"

namespace warder {
namespace {

constexpr const char* kLearned = "learned";  // the policy's name where nothing gives another

void deliver(const std::string& yaml, NewFile* file) {
  if (file == nullptr) {
    std::cout << yaml << std::flush;
    if (!std::cout) throw RunRefused("standard output cannot be written", 125);
    return;
  }
  file->write(yaml);
  say("the learned policy is in " + file->name() + ": look at it before you use it");
}

std::optional<NewFile> file_for(const LearnArgs& args) {
  if (args.out.empty()) return std::nullopt;
  return std::optional<NewFile>(std::in_place, args.out, args.force);
}

int learn_from_run(const LearnArgs& args) {
  Chosen chosen = choose(args.run);
  auto file = file_for(args);
  const Config before = chosen.config;
  const std::string name = chosen.policy;
  policy_of(chosen.config, name).observes = true;
  const RunOutcome outcome = run_chosen(args.run, std::move(chosen));
  const Gathered gathered = gather({outcome.audit_file}, {outcome.session, ""});
  deliver(learned_yaml(before, name, gathered), file ? &*file : nullptr);
  return exit_code_of(outcome, false);
}

void expect_sessions(const Gathered& gathered, const LearnArgs& args) {
  if (!gathered.sessions.empty()) return;
  if (!args.session.empty())
    throw ConfigError("no record is of session " + audit::printable(args.session));
  std::string known;
  for (const std::string& policy : gathered.policies) known += ' ' + audit::printable(policy);
  throw ConfigError("no record is of a session" +
                    (args.run.policy.empty() ? "" : " under policy " + args.run.policy) +
                    (known.empty() ? "" : "; there are records under" + known));
}

// Without --config and --policy: that of the records, if it is one.
std::string name_for(const LearnArgs& args, const Gathered& gathered) {
  if (!args.run.policy.empty()) return args.run.policy;
  const bool is_one = gathered.policies.size() == 1 && is_plain_name(*gathered.policies.begin());
  return is_one ? *gathered.policies.begin() : kLearned;
}

int learn_from_records(const LearnArgs& args) {
  if (!args.run.policy.empty() && !is_plain_name(args.run.policy)) {
    throw ConfigError("--policy " + audit::printable(args.run.policy) +
                      ": a policy's name has letters, digits, '-' and '_' only, up to 64");
  }
  const bool has_policy = !args.run.config.empty();
  Chosen chosen = has_policy ? choose(args.run) : Chosen{};
  auto file = file_for(args);
  say("the records are not verified: warder audit verify does that");
  const Gathered gathered =
      gather(args.from, {args.session, has_policy ? chosen.policy : args.run.policy});
  expect_sessions(gathered, args);
  const std::string name = has_policy ? chosen.policy : name_for(args, gathered);
  deliver(learned_yaml(std::move(chosen.config), name, gathered), file ? &*file : nullptr);
  return 0;
}

int diff(const LearnArgs& args) {
  const Chosen chosen = choose(args.run);
  const PolicyConfig* policy = chosen.config.policy(chosen.policy);
  if (policy == nullptr)
    throw ConfigError("there is no policy to compare with: say --config FILE, and --policy NAME");
  auto files = args.from;
  if (files.empty()) {
    const auto runs = audit::audit_files(audit_directory());
    if (runs.empty())
      throw ConfigError("there is no audit file in " + audit_directory().string() +
                        ": name one with --from");
    files.push_back(runs.back());
  }
  const Gathered gathered = gather(files, {args.session, policy->name});
  expect_sessions(gathered, args);
  const Unused unused = unused_of(*policy, gathered);
  if (args.json == Json::yes) {
    std::cout << json_of(unused, *policy, gathered) << std::flush;
  } else {
    std::cout << "policy '" << policy->name << "', against "
              << counted(gathered.records, "record", "records") << " of "
              << counted(gathered.sessions.size(), "session", "sessions")
              << " (not verified: warder audit verify does that)\n"
              << text_of(unused) << std::flush;
  }
  if (!std::cout) throw RunRefused("standard output cannot be written", 125);
  return 0;
}

int learn_or_throw(const LearnArgs& args) {
  const bool runs = !args.run.command.empty();
  if (runs && (args.diff || !args.from.empty() || !args.session.empty()))
    throw ConfigError("--from, --session and --diff are about records: leave CMD out");
  if (args.json == Json::yes && !args.diff) throw ConfigError("--json goes with --diff");
  if (args.diff && !args.out.empty()) throw ConfigError("--out goes without --diff");
  if (args.diff) return diff(args);
  if (!runs && args.from.empty())
    throw ConfigError("say what to learn from: CMD behind --, or --from FILE");
  return runs ? learn_from_run(args) : learn_from_records(args);
}

}  // namespace

int learn_command(const LearnArgs& args) {
  return guarded([&] { return learn_or_throw(args); });
}

}  // namespace warder
