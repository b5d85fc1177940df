// `warder`: reads the command line and hands over to one command per file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/apply_command.hpp"
#include "cli/approve_command.hpp"
#include "cli/audit_options.hpp"
#include "cli/check_command.hpp"
#include "cli/demo_command.hpp"
#include "cli/diff_command.hpp"
#include "cli/doctor_command.hpp"
#include "cli/explain_command.hpp"
#include "cli/gateway_command.hpp"
#include "cli/harden.hpp"
#include "cli/init_command.hpp"
#include "cli/learn_command.hpp"
#include "cli/preset_command.hpp"
#include "cli/reload_command.hpp"
#include "cli/run_command.hpp"
#include "cli/secret_command.hpp"
#include "cli/trust_command.hpp"

namespace warder {
namespace {

constexpr const char* kFooter = R"(Examples:
  warder doctor                                          does this host have what a sandbox needs?
  warder demo                                            watch a sandboxed curl use a token it cannot read
  warder run --allow pypi.org -- pip download six        one host, nothing else
  warder run --secret GITHUB_TOKEN@api.github.com -- gh api user
  warder run --allow host.warder.internal:5432 --publish 3000 -- npm run dev   a database here, a server inside
  warder run --profile claude-code -- claude             what Claude Code needs, and nothing else
  warder run --config warder.yaml --policy coding-agent -- claude
  warder init && warder trust                            a policy file for this project
  warder check && warder explain https://pypi.org/simple/   what is odd in it, and what would become of a request
  warder run --clone -- ./agent.sh && warder diff        on a clone of this directory; then warder apply
  warder gateway --config warder.yaml                    the listeners of a configuration, for other sandboxes
  warder secret set github                               put a value into the encrypted store
  warder approve                                         answer what a rule with `action: ask` waits for
  warder learn --out warder.yaml -- npm ci               the smallest policy that would allow what this does
  warder audit verify                                    check the record of the last run
  warder audit report                                    what the records tell, for somebody who was not there

Exit codes: the command's own; 128+n for a signal; 126/127 as a shell; 2 configuration; 125 Warder itself;
124 --time is up, 137 another limit ended the command.)";

// CMD stands behind the first "--", and no parser sees it: CLI11 would take "[.a,.b]" apart.
std::vector<std::string> take_command(int& argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    std::vector<std::string> command(argv + i + 1, argv + argc);
    argc = i;
    return command;
  }
  return {};
}

// What of the working tree the sandbox may change and see.
void add_tree_options(CLI::App& run, WorkingTreeArgs& args) {
  const auto paths = [&run](const char* name, std::vector<std::string>& values, const char* what) {
    run.add_option(name, values, what)
        ->type_name("PATH")
        ->take_all()
        ->expected(1)
        ->allow_extra_args(false);
  };
  paths(
      "--unprotect", args.unprotect,
      "let the sandbox write what programs outside run or believe, such as .git/hooks; may repeat");
  paths("--show", args.show, "show this file although it looks like a secret; may repeat");
  static const std::map<std::string, FilesProfile> kProfiles{{"strict", FilesProfile::strict},
                                                             {"default", FilesProfile::standard},
                                                             {"dev", FilesProfile::dev}};
  run.add_option("--files", args.files,
                 "strict: the directory read-only, nothing of the home; dev: editors' and agents' "
                 "files writable, package caches kept (default)")
      ->type_name("strict|default|dev")
      ->transform(CLI::CheckedTransformer(kProfiles));
  run.add_option("--cache", args.cache, "keep package caches in this directory, one per project")
      ->type_name("DIR");
}

void add_bounds(CLI::App& run, RunArgs& args) {
  struct Flag {
    Bound bound;
    const char* type;
    const char* what;
  };
  constexpr Flag kFlags[] = {
      {Bound::memory, "SIZE", "of all processes together, such as 2GiB"},
      {Bound::cpus, "NUMBER", "processors' worth of time, such as 1.5"},
      {Bound::pids, "NUMBER", "processes and threads at a time"},
      {Bound::file_size, "SIZE", "of any one file that is written"},
      {Bound::open_files, "NUMBER", "of any one process"},
      {Bound::disk, "SIZE", "of what lies in the sandbox's own file systems, such as /tmp"},
      {Bound::output, "SIZE", "of stdout and stderr together, where they are no terminal"},
      {Bound::time, "TIME", "by the clock, such as 30m; then exit code 124"}};
  for (const Flag& flag : kFlags) {
    run.add_option(flag_of(flag.bound), args.bounds[static_cast<std::size_t>(flag.bound)],
                   std::string("limit: ") + flag.what)
        ->type_name(flag.type);
  }
}

// What both `run` and `learn` take: the policy, and what the sandbox sees.
void add_run_options(CLI::App& run, RunArgs& args) {
  const auto repeatable = [&run](const char* name, std::vector<std::string>& values,
                                 const char* what, const char* type) {
    run.add_option(name, values, what)
        ->type_name(type)
        ->take_all()
        ->expected(1)
        ->allow_extra_args(false);
  };
  run.add_option("--config", args.config,
                 "configuration file (without it: ./warder.yaml, once trusted)")
      ->type_name("FILE");
  run.add_option("--policy", args.policy, "policy in it; may be left out when there is one")
      ->type_name("NAME");
  repeatable("--allow", args.flags.allow,
             "allow a host, HOST[:PORT]; host.warder.internal:PORT is a service of this machine; "
             "may repeat",
             "HOST");
  repeatable("--secret", args.flags.secrets,
             "let the sandbox use the secret in variable ENV at these hosts, ENV@HOST[,HOST…]; may "
             "repeat",
             "ENV@HOST");
  repeatable("--env", args.env, "pass this variable of the environment too; may repeat", "NAME");
  repeatable("--ro", args.read_only, "show this path inside, read-only; may repeat", "PATH");
  repeatable("--rw", args.read_write, "show this path inside, writable; may repeat", "PATH");

  add_tree_options(run, args.tree);
  run.add_flag("--clone", args.clone,
               "work on a clone of the workspace: the host's files stay as they are until warder "
               "apply");

  add_bounds(run, args);
  repeatable(
      "--publish", args.publish,
      "let this machine reach a port of the sandbox, [ADDR:]HOSTPORT[:PORT] (ADDR is 127.0.0.1, "
      "HOSTPORT 0 a free one); may repeat",
      "PORT");
  run.add_flag_callback(
      "--as-root", [&args] { args.as_root = AsRoot::yes; },
      "be uid 0 inside, still without any capability");

  run.add_flag_callback(
      "--quiet", [&args] { args.quiet = Quiet::yes; },
      "no lines of Warder's own on stderr, but of files that were taken back");
}

void add_run(CLI::App& app, RunArgs& args, int& code) {
  CLI::App* run =
      app.add_subcommand("run", "run a command in a sandbox whose only way out is the gateway");
  run->footer("CMD and its arguments stand behind --, as they are: warder run [OPTIONS] -- CMD…");
  add_run_options(*run, args);
  run->add_option("--profile", args.profile,
                  "what an agent needs: claude-code, codex … (warder preset list)")
      ->type_name("NAME")
      ->check([](const std::string& name) {  // else an unset variable would mean no profile
        return name.empty() ? "it is empty: give a name (warder preset list)" : "";
      });
  run->add_option("--gateway", args.gateway,
                  "use the gateway that has this admin socket (DIR/admin.sock), and its policies")
      ->type_name("SOCK");
  CLI::Option* print =
      run->add_flag("--print-config")
          ->description("print the configuration that these flags amount to, and stop");
  run->callback([&args, &code, print] {
    if (print->count() > 0) {
      code = print_config_command(args);
    } else if (args.command.empty()) {
      throw CLI::RequiredError("CMD, after --,");
    } else {
      code = run_command(args);
    }
  });
}

constexpr const char* kLearnFooter =
    R"(With CMD: runs it as warder run does, but lets through what no rule allows, and records that. Never what a
deny rule refuses, private addresses, raw TCP, a placeholder in a wrong place; secrets go only where a grant says.

  warder learn --secret GITHUB_TOKEN@api.github.com --out learned.yaml -- ./agent.sh
  warder learn --from audit.jsonl --session ID              from records, also of what was refused
  warder learn --diff --config warder.yaml                  what it grants and the last run did not use

The policy has its evidence as comments: look at it before you use it.)";

void add_learn(CLI::App& app, LearnArgs& args, int& code) {
  CLI::App* learn = app.add_subcommand(
      "learn", "write the smallest policy that would allow what a command does, or did");
  learn->footer(kLearnFooter);
  add_run_options(*learn, args.run);
  learn->add_option("--from", args.from, "audit file to learn from, instead of CMD; may repeat")
      ->type_name("FILE")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  learn->add_option("--session", args.session, "only this session of the records")->type_name("ID");
  learn->add_option("--out", args.out, "write the policy to this file (without it: stdout)")
      ->type_name("FILE");
  learn->add_flag("--force", args.force, "also when the file is there");
  learn->add_flag(
      "--diff", args.diff,
      "print what the policy grants and no record used (without --from: of the last run)");
  learn->add_flag_callback("--json", [&args] { args.json = Json::yes; }, "print JSON");
  learn->callback([&args, &code] { code = learn_command(args); });
}

void add_gateway(CLI::App& app, GatewayArgs& args, int& code) {
  CLI::App* gateway = app.add_subcommand(
      "gateway", "serve the listeners of a configuration until SIGTERM, then drain");
  gateway->add_option("--config", args.config, "configuration file")->type_name("FILE")->required();
  gateway
      ->add_option("--directory", args.directory,
                   "where clients find ca.pem, bundle.pem and LISTENER.env (without it: "
                   "$XDG_RUNTIME_DIR/warder)")
      ->type_name("DIR");
  gateway
      ->add_option("--drain", args.drain_seconds,
                   "seconds that what runs has to end after SIGTERM (30)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 3600));
  gateway->add_flag("--watch", args.watch, "read the configuration again whenever it changes");
  gateway->footer("SIGHUP, or warder reload, has it read the configuration again.");
  gateway->callback([&args, &code] { code = gateway_command(args); });
}

void add_reload(CLI::App& app, ReloadArgs& args, int& code) {
  CLI::App* reload = app.add_subcommand(
      "reload",
      "have a running gateway, or run, read its configuration again: all of it, or nothing");
  reload
      ->add_option("--gateway", args.gateway,
                   "its admin socket (without it: the only gateway or run of yours)")
      ->type_name("SOCK");
  reload->callback([&args, &code] { code = reload_command(args); });
}

constexpr const char* kApproveFooter =
    R"(Examples:
  warder approve                 lists what waits, and asks about each on a terminal
  warder approve --watch         the same, and what comes later
  warder approve 3f9c01aa        this request, once
  warder approve 3f9c01aa --for 10m   whatever its rule asks about in that session, for ten minutes
  warder approve --deny 3f9c01aa)";

void add_approve(CLI::App& app, ApproveArgs& args, int& code) {
  CLI::App* approve =
      app.add_subcommand("approve", "see the requests that wait for somebody's yes, and answer");
  approve->footer(kApproveFooter);
  approve->add_option("ID", args.id, "the question, or the first characters of its id");
  approve->add_flag_callback("--deny", [&args] { args.deny = true; }, "say no");
  approve->add_option("--for", args.time, "say yes to the rule for so long: from 1s to 24h")
      ->type_name("TIME");
  approve->add_flag_callback("--watch", [&args] { args.watch = true; }, "wait for more questions");
  approve->add_flag_callback("--json", [&args] { args.json = Json::yes; }, "print JSON");
  approve
      ->add_option("--gateway", args.gateway,
                   "the gateway with this admin socket (without it: all of this user that run)")
      ->type_name("SOCK");
  approve->callback([&args, &code] { code = approve_command(args); });
}

constexpr const char* kExplainFooter =
    R"(Nothing is asked or sent: the rules are read as the gateway reads them. Examples:
  warder explain https://api.github.com/repos/acme/x/issues
  warder explain --policy coding-agent -X POST -H 'X-Env: prod' --body-size 2048 https://api.example.com/v1
  warder explain tcp://db.internal:5432

Exit codes: 0 allowed (or asked about), 1 refused, 2 the configuration or what was asked cannot be used.)";

constexpr const char* kCheckFooter =
    R"(Looks for rules that another one shadows, grants that no rule makes reachable, wildcards over names that
anybody can register, grants at shared hosting, secrets that nothing uses; and asks the policy its own tests:

  tests:
    - {url: "https://api.github.com/user/keys", method: POST, expect: deny, rule: no-keys}

Exit codes: 0 well, or warnings only; 1 a test fails, or a warning with --strict; 2 it does not load.)";

void add_explain(CLI::App& app, ExplainArgs& args, int& code) {
  CLI::App* explain =
      app.add_subcommand("explain", "say what would become of a request, and which rule decides");
  explain->footer(kExplainFooter);
  explain->add_option("--config", args.config, "configuration file (without it: ./warder.yaml)")
      ->type_name("FILE");
  explain->add_option("--policy", args.policy, "policy in it; may be left out when there is one")
      ->type_name("NAME");
  explain->add_option("-X,--method", args.method, "method (GET)")->type_name("METHOD");
  explain->add_option("-H,--header", args.headers, "a header field; may repeat")
      ->type_name("'NAME: VALUE'")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  explain->add_option("--body-size", args.body_size, "bytes of the body (0)")
      ->type_name("BYTES")
      ->check(CLI::NonNegativeNumber);  // else -1 would be a very large one
  explain->add_option("URL", args.url, "https://, http:// or tcp://HOST:PORT")->required();
  explain->add_flag_callback("--json", [&args] { args.json = Json::yes; }, "print JSON");
  explain->callback([&args, &code] { code = explain_command(args); });
}

void add_check(CLI::App& app, CheckArgs& args, int& code) {
  CLI::App* check = app.add_subcommand(
      "check", "look for what a configuration says and hardly means, and run its tests");
  check->footer(kCheckFooter);
  check->add_option("--config", args.config, "configuration file (without it: ./warder.yaml)")
      ->type_name("FILE");
  check->add_option("--policy", args.policy, "one policy of it (without it: all)")
      ->type_name("NAME");
  check->add_flag_callback(
      "--strict", [&args] { args.strict = Strict::yes; }, "exit 1 for a warning, too");
  check->add_flag_callback("--json", [&args] { args.json = Json::yes; }, "print JSON");
  check->callback([&args, &code] { code = check_command(args); });
}

constexpr const char* kSecretFooter =
    R"(The value is read from standard input, or typed without echo. Examples:
  warder secret set github                        asks for the value
  pass show github | warder secret rotate github  the next version; what runs uses it from its next request on
  warder secret list
  warder secret rm github                         revokes it, also for what runs

In warder.yaml: secrets: {github: {source: {store: github}, placeholder: {env: GITHUB_TOKEN}}})";

CLI::App* add_secret_command(CLI::App& secret, SecretArgs& args, int& code, const char* name,
                             const char* what, int (*run)(const SecretArgs&)) {
  CLI::App* command = secret.add_subcommand(name, what);
  command->add_option("--store", args.store, "the store (without it: the user's own)")
      ->type_name("FILE");
  command->footer(kSecretFooter);
  command->callback([&args, &code, run] { code = run(args); });
  return command;
}

void add_secret(CLI::App& app, SecretArgs& args, int& code) {
  CLI::App* secret = app.add_subcommand("secret", "keep secrets in an encrypted store");
  secret->require_subcommand(1);
  secret->footer(kSecretFooter);
  const auto add = [&](const char* name, const char* what, int (*run)(const SecretArgs&)) {
    return add_secret_command(*secret, args, code, name, what, run);
  };
  CLI::App* set = add("set", "put a new secret into the store", secret_set_command);
  set->add_flag("--passphrase", args.passphrase,
                "a store that is made now opens with a passphrase, not with a key file");
  CLI::App* rotate = add("rotate", "replace a value by its next version", secret_rotate_command);
  CLI::App* remove = add("rm", "remove a secret, which revokes it", secret_rm_command);
  for (CLI::App* command : {set, rotate, remove}) {
    command->add_option("NAME", args.name, "letters, digits, '-' and '_'")->required();
    // Taken, so that no message quotes it.
    command->add_option("SURPLUS", args.surplus)->group("");
  }
  CLI::App* list = add("list", "names, versions and times; never values", secret_list_command);
  list->add_flag_callback("--json", [&args] { args.json = Json::yes; }, "print JSON");
}

constexpr const char* kDiffFooter =
    R"(Of what warder run --clone left. ID, or its first characters, is one of --list; without it: the newest clone of this
directory. What runs code without anybody asking for it (hooks, CI, editor tasks, agent configurations) comes first.

  warder diff                        every change, with its lines
  warder diff --stat                 every change on one line
  warder apply                       take all but what runs code later
  warder apply --include .github     and this
  warder discard                     throw the clone away)";

constexpr const char* kApplyFooter =
    R"(Takes the changes of warder run --clone into the host's files; the clone goes when nothing of it is left. Examples:
  warder apply --dry-run
  warder apply                       all but what runs code later
  warder apply --include .vscode     and this, or what lies in it
  warder apply --all
  warder apply --force README.md     although it was changed outside meanwhile, too

Exit codes: 0 applied; 1 the same files were changed outside since, and nothing was applied; 2 there is no such clone.)";

struct CloneArgs {
  DiffArgs diff;
  ApplyArgs apply;
  DiscardArgs discard;
};

void add_clones(CLI::App& app, CloneArgs& args, int& code) {
  CLI::App* diff = app.add_subcommand("diff", "see what a run with --clone changed");
  diff->footer(kDiffFooter);
  diff->add_option("ID", args.diff.id, "the clone (without it: the newest of this directory)");
  CLI::Option* list =
      diff->add_flag("--list", args.diff.list, "the clones that are kept, of all directories");
  const auto show = [diff, &args](const char* flag, DiffArgs::Show how, const char* what) {
    return diff->add_flag_callback(flag, [&args, how] { args.diff.show = how; }, what);
  };
  CLI::Option* stat = show("--stat", DiffArgs::Show::stat, "one line for each change");
  CLI::Option* names = show("--name-only", DiffArgs::Show::names, "only the paths");
  stat->excludes(names)->excludes(list);
  names->excludes(list);
  diff->add_flag_callback("--json", [&args] { args.diff.json = Json::yes; }, "print JSON");
  diff->callback([&args, &code] { code = diff_command(args.diff); });

  CLI::App* apply = app.add_subcommand("apply", "take what a run with --clone changed");
  apply->footer(kApplyFooter);
  apply->add_option("ID", args.apply.id, "the clone (without it: the newest of this directory)");
  const auto repeatable = [apply](const char* name, std::vector<std::string>& values,
                                  const char* what) {
    apply->add_option(name, values, what)
        ->type_name("PATH")
        ->take_all()
        ->expected(1)
        ->allow_extra_args(false);
  };
  repeatable("--include", args.apply.include,
             "take this too, although it runs code later; may repeat");
  repeatable("--force", args.apply.force,
             "take this although it was changed outside since; may repeat");
  apply->add_flag("--all", args.apply.all, "take all that runs code later");
  apply->add_flag("--dry-run", args.apply.dry_run, "say what would be taken");
  apply->callback([&args, &code] { code = apply_command(args.apply); });

  CLI::App* discard = app.add_subcommand("discard", "throw away what a run with --clone changed");
  discard->add_option("ID", args.discard.id,
                      "the clone (without it: the newest of this directory)");
  discard->callback([&args, &code] { code = discard_command(args.discard); });
}

void add_preset(CLI::App& app, PresetShowArgs& args, int& code) {
  CLI::App* preset = app.add_subcommand("preset", "look at the presets and agent profiles");
  preset->require_subcommand(1);
  preset->add_subcommand("list", "names, and what each is for")->callback([&code] {
    code = preset_list_command();
  });
  CLI::App* show = preset->add_subcommand("show", "the rules of one, as they are included");
  show->add_option("NAME", args.name, "such as npm or profile/claude-code")->required();
  show->callback([&args, &code] { code = preset_show_command(args); });
}

constexpr const char* kDoctorFooter =
    R"(Each check is tried, in a process or a sandbox that is thrown away; nothing is left. What is missing is explained, with the
commands that mend it. What is only wished for costs a feature, which its line names.

Exit codes: 0 warder run works here, 1 something that it needs is missing.)";

void add_doctor(CLI::App& app, DoctorArgs& args, int& code) {
  CLI::App* doctor = app.add_subcommand(
      "doctor", "try what a sandbox needs of this host; say what is missing, and the fix");
  doctor->footer(kDoctorFooter);
  doctor->add_flag_callback("--json", [&args] { args.json = Json::yes; }, "print JSON");
  doctor->callback([&args, &code] { code = doctor_command(args); });
}

int command_line(int argc, char** argv) {
  hold_standard_descriptors();
  CLI::App app("Warder lets programs that nobody trusts use credentials that they cannot read.",
               "warder");
  app.set_version_flag("--version", "warder " WARDER_VERSION);
  app.require_subcommand(1);
  int code = 0;

  RunArgs run;
  if (argc > 1 && std::string_view(argv[1]) == "run") run.command = take_command(argc, argv);
  add_run(app, run, code);
  LearnArgs learn;
  if (argc > 1 && std::string_view(argv[1]) == "learn")
    learn.run.command = take_command(argc, argv);
  add_learn(app, learn, code);
  GatewayArgs gateway;
  add_gateway(app, gateway, code);
  ReloadArgs reload;
  add_reload(app, reload, code);
  ApproveArgs approve;
  add_approve(app, approve, code);
  AuditArgs audit;
  add_audit(app, audit, code);
  SecretArgs secret;
  add_secret(app, secret, code);
  CloneArgs clones;
  add_clones(app, clones, code);
  PresetShowArgs preset;
  add_preset(app, preset, code);
  InitArgs init;
  app.add_subcommand("init", "write a commented warder.yaml for the project in this directory")
      ->callback([&] { code = init_command(init); });
  ExplainArgs explain;
  add_explain(app, explain, code);
  CheckArgs check;
  add_check(app, check, code);
  TrustArgs trust;
  app.add_subcommand("trust", "pin this directory's warder.yaml as it is now")->callback([&] {
    code = trust_command(trust);
  });
  DemoArgs demo;
  CLI::App* demonstrate =
      app.add_subcommand("demo", "watch a sandboxed curl use a token that it cannot read");
  demonstrate->add_flag_callback("--json", [&] { demo.json = Json::yes; }, "print JSON");
  demonstrate->callback([&] { code = demo_command(demo); });

  DoctorArgs doctor;
  add_doctor(app, doctor, code);

  app.footer(kFooter);  // last: a command that is added takes on the footer that there is

  const auto is_named = [&](const CLI::App* command) {
    return argc > 1 && command->check_name(argv[1]);
  };
  const auto commands = app.get_subcommands([](CLI::App*) { return true; });
  if (argc > 1 && argv[1][0] != '-' && std::none_of(commands.begin(), commands.end(), is_named)) {
    std::fprintf(stderr, "warder: there is no command '%s'; warder --help lists them\n", argv[1]);
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    return status == 0 ? 0 : 2;
  }
  return code;
}

}  // namespace
}  // namespace warder

int main(int argc, char** argv) { return warder::command_line(argc, argv); }
