#include "cli/run_command.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/reason.hpp"
#include "cli/harden.hpp"
#include "cli/remote_run.hpp"
#include "cli/run_clone.hpp"
#include "cli/sandboxed_run.hpp"
#include "cli/state.hpp"
#include "cli/summon.hpp"
#include "cli/trust_command.hpp"
#include "config/audit_place.hpp"
#include "config/profile.hpp"
#include "sandbox-launcher/view.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFlagsPolicy = "run";

// The file that counts: --config is consent; a file found in the workspace must have been trusted, since whatever ran
// there before may have written it.
Config base_config(const RunArgs& args, const fs::path& workspace) {
  if (!args.config.empty()) return load_config(args.config);
  const fs::path found = workspace / "warder.yaml";
  if (!fs::exists(found)) return {};
  const std::string bytes = config_bytes(found);
  if (!is_trusted(found, bytes)) {
    throw ConfigError(
        found.string() +
        " is not trusted, or has changed since: look at it, then `warder trust`; or say "
        "--config " +
        found.string());
  }
  return parse_config(bytes, found);
}

std::string policy_names(const Config& config) {
  std::string names;
  for (const PolicyConfig& policy : config.policies) names += " " + policy.name;
  return names;
}

std::string chosen_policy(const RunArgs& args, const Config& config) {
  if (!args.policy.empty()) return args.policy;
  if (config.policies.size() == 1) return config.policies.front().name;
  if (config.policies.empty()) return args.profile.empty() ? kFlagsPolicy : args.profile;
  throw ConfigError(config.file.string() + " has several policies: say --policy with one of" +
                    policy_names(config));
}

bool is_set(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  return value != nullptr && *value != '\0';
}

Bounds bounds_of(const RunArgs& args) {
  Bounds bounds;
  for (std::size_t i = 0; i < kBounds; ++i) {
    const std::string& text = args.bounds[i];
    if (text.empty()) continue;
    const auto bound = static_cast<Bound>(i);
    const auto parsed = parse_bound(bound, text);
    if (const auto* sentence = std::get_if<std::string>(&parsed))
      throw ConfigError(flag_of(bound) + " " + text + ": " + *sentence);
    bounds.set(bound, std::get<std::uint64_t>(parsed));
  }
  return bounds;
}

using IsSet = std::function<bool(const std::string&)>;

Chosen choose_in(const RunArgs& args, const fs::path& workspace, const IsSet& is_there) {
  Chosen chosen{base_config(args, workspace), {}, {}, {}};
  chosen.policy = chosen_policy(args, chosen.config);
  if (!chosen.config.policies.empty() && chosen.config.policy(chosen.policy) == nullptr) {
    throw ConfigError(chosen.config.file.string() + " has no policy named '" + chosen.policy +
                      "'; it has" + policy_names(chosen.config));
  }
  if (!args.profile.empty()) {
    chosen.profile = read_profile(args.profile);
    chosen.secrets = apply_profile(chosen.config, chosen.policy, *chosen.profile, is_there);
  }
  apply_flags(chosen.config, chosen.policy, args.flags);
  for (PolicyConfig& policy : chosen.config.policies) {
    if (policy.name == chosen.policy) policy.bounds.beneath(bounds_of(args));
  }
  return chosen;
}

std::vector<fs::path> absolute_paths(const std::vector<std::string>& paths, const char* flag) {
  std::vector<fs::path> absolute;
  for (const std::string& path : paths) {
    if (!fs::exists(path))
      throw ConfigError(std::string(flag) + " " + path + ": there is no such file");
    absolute.push_back(fs::canonical(path));
  }
  return absolute;
}

bool allows_nothing(const Chosen& chosen) {
  const PolicyConfig* policy = chosen.config.policy(chosen.policy);
  return policy == nullptr || (policy->rules.empty() && !policy->observes);
}

void print_summary(const RunOutcome& outcome) {
  for (const HeldBound& held : outcome.bounds) {
    if (const std::string line = line_of(held); !line.empty()) say(line);
  }
  if (!outcome.denials.empty()) say("refused in this run:");
  for (const Denial& denial : outcome.denials) {
    const std::string times =
        denial.count > 1 ? " (" + std::to_string(denial.count) + " times)" : "";
    const std::string word(to_string(denial.reason));
    std::string what;
    for (const char c : denial.what)
      what += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    std::fprintf(stderr, "  %s: %s%s\n", what.c_str(), word.c_str(), times.c_str());
    if (!denial.suggestion.empty())
      std::fprintf(stderr, "    to allow it: %s\n", denial.suggestion.c_str());
  }
  if (outcome.other_denials > 0)
    say("and " + std::to_string(outcome.other_denials) + " more of other kinds");
  if (!outcome.denials.empty()) say("the whole record: " + outcome.audit_file.string());
}

// A gateway that runs already has its own configuration, and what a sandbox may is nobody else's to say.
void refuse_own_rules(const RunArgs& args) {
  if (!args.config.empty() || !args.profile.empty() || !args.flags.allow.empty() ||
      !args.flags.secrets.empty()) {
    throw ConfigError(
        "--gateway goes without --config, --profile, --allow and --secret: the gateway's own "
        "configuration counts");
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

// One line on what the run has, or on what it lacks and how to get it.
void advise(const Chosen& chosen, const RunArgs& args) {
  const std::string fitting = chosen.profile ? "" : profile_for(args.command.front());
  if (chosen.profile) {
    const ProfileSecrets& secrets = chosen.secrets;
    say("profile " + chosen.profile->name + ": " +
        (secrets.found.empty() ? "no credential" : "uses " + joined(secrets.found)) +
        (secrets.missing.empty() ? "" : "; not set: " + joined(secrets.missing)));
  } else if (!allows_nothing(chosen)) {
    return;
  } else if (!fitting.empty()) {
    say("no rule allows anything: the command runs without network. There is a profile for it: "
        "warder run --profile " +
        fitting + " -- " + fs::path(args.command.front()).filename().string());
  } else {
    say("no rule allows anything: the command runs without network. To allow a host: --allow HOST, "
        "or a warder.yaml (warder init)");
  }
}

// As comments: a configuration has no word for what is the run's alone.
std::string rest_of_profile(const Profile& profile) {
  std::string out = "# of profile " + profile.name + ", besides:\n";
  for (const HomePlace& place : profile.home)
    out += "#   ~/" + place.path + ": " + std::string(to_string(place.how)) + '\n';
  for (const auto& [name, value] : profile.environment) out += "#   " + name + "=" + value + '\n';
  if (!profile.pass.empty()) out += "#   passed when set: " + joined(profile.pass) + '\n';
  return out;
}

void take_profile(const Profile& profile, RunSpec& spec) {
  spec.home = profile.home;
  spec.profile = profile.name;
  spec.set_env = profile.environment;
  spec.env.insert(spec.env.end(), profile.pass.begin(), profile.pass.end());
}

void check_place(const fs::path& workspace) {
  const char* home = std::getenv("HOME");
  const std::string refusal = refuse_workspace(workspace, home != nullptr ? home : "");
  if (!refusal.empty()) throw ConfigError(refusal);
  if (const std::string inherited = refuse_standard_descriptors(); !inherited.empty())
    throw ConfigError(inherited);
}

}  // namespace

Chosen choose(const RunArgs& args) { return choose_in(args, fs::current_path(), is_set); }

RunOutcome run_chosen(const RunArgs& args, Chosen chosen) {
  const fs::path workspace = fs::current_path();
  check_place(workspace);
  const bool remote = !args.gateway.empty();
  check_audit_place(chosen.config, workspace);
  if (!remote && args.quiet == Quiet::no) advise(chosen, args);
  RunSpec spec;
  // By then the variables are gone from this process: what was set is what was found.
  const IsSet was_set = [found = chosen.secrets.found](const std::string& variable) {
    return std::find(found.begin(), found.end(), variable) != found.end();
  };
  const PolicyConfig* policy = chosen.config.policy(chosen.policy);
  const bool observes = policy != nullptr && policy->observes;
  spec.read_again = [args, workspace, was_set, observes] {
    Chosen again = choose_in(args, workspace, was_set);
    check_audit_place(again.config, workspace);
    for (PolicyConfig& each : again.config.policies) {
      if (each.name == again.policy) each.observes |= observes;
    }
    return std::move(again.config);
  };
  spec.config = std::move(chosen.config);
  spec.policy = chosen.policy;
  spec.argv = args.command;
  spec.workspace = workspace;
  spec.env = args.env;
  if (chosen.profile) take_profile(*chosen.profile, spec);
  spec.bounds = bounds_of(args);

  spec.publish = args.publish;
  spec.as_root = args.as_root;

  spec.read_only = absolute_paths(args.read_only, "--ro");
  spec.read_write = absolute_paths(args.read_write, "--rw");

  spec.tree = args.tree;

  if (args.quiet == Quiet::no) {
    spec.announce = say;
    spec.summon = summon;
  }

  std::optional<RunClone> clone;
  if (args.clone) {
    spec.run = new_run_id();
    spec.clone = clone.emplace(spec.run, workspace, args.command.front()).directory();
    spec.cloned = [&clone] { return clone->changes(); };
  }

  RunOutcome outcome =
      remote ? run_behind_gateway(spec, fs::absolute(args.gateway)) : run_sandboxed(spec);
  if (args.quiet == Quiet::no) print_summary(outcome);
  if (clone) clone->finish(spec.announce);
  return outcome;
}

int exit_code_of(const RunOutcome& outcome, bool remote) {
  if (!outcome.audit_whole) {
    say(remote ? std::string("the gateway did not record the end of this run")
               : "the audit log could not be closed whole: " + outcome.audit_file.string());
    return 125;
  }
  return outcome.exit_code;
}

int run_command(const RunArgs& args) {
  return guarded([&] {
    const bool remote = !args.gateway.empty();
    check_place(fs::current_path());  // before anything in it is believed
    if (remote) refuse_own_rules(args);
    Chosen chosen = remote ? Chosen{{}, args.policy, {}, {}} : choose(args);
    return exit_code_of(run_chosen(args, std::move(chosen)), remote);
  });
}

int print_config_command(const RunArgs& args) {
  return guarded([&] {
    const Chosen chosen = choose(args);
    const std::string yaml = to_yaml(chosen.config, chosen.policy);
    std::fputs(yaml.c_str(), stdout);
    if (chosen.profile) std::fputs(rest_of_profile(*chosen.profile).c_str(), stdout);
    return 0;
  });
}

}  // namespace warder
