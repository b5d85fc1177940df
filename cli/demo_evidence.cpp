#include "cli/demo_evidence.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/encoding.hpp"
#include "cli/demo_script.hpp"
#include "cli/state.hpp"
#include "secrets/secret_value.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "ghp_";
constexpr std::size_t kRandomLetters = 36;
constexpr std::size_t kShown = 7;
constexpr std::size_t kMaxFile = 1 << 20;
constexpr std::size_t kMaxFiles = 1000;
constexpr const char* kEllipsis = "…";

// The characters of base64 that depend on `value` alone when `lead` bytes stand before it.
std::string base64_core(std::string_view value, std::size_t lead) {
  static constexpr std::array<std::size_t, 3> kFirst{0, 2, 3};
  const std::string coded = base64_encode(std::string(lead, 'x') + std::string(value));
  const std::size_t end = (lead + value.size()) * 8 / 6;
  return coded.substr(kFirst[lead], end - kFirst[lead]);
}

// A regular file's first kMaxFile bytes; never follows a link that a program inside may have made.
std::string read_file(const fs::path& path) {
  if (fs::symlink_status(path).type() != fs::file_type::regular) return "";
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFile, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::string variable_in(const std::string& environment, const std::string& name) {
  std::istringstream lines(environment);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  }
  return "";
}

// What could not be searched counts as found.
void search_files(const fs::path& workspace, const DemoToken& token, DemoEvidence& evidence) {
  for (const auto& entry : fs::recursive_directory_iterator(workspace)) {
    const std::string name = entry.path().lexically_relative(workspace).string();
    if (++evidence.files_searched > kMaxFiles) {
      evidence.leaks.push_back("the sandbox left too many files to search");
      return;
    }
    if (entry.symlink_status().type() == fs::file_type::regular && entry.file_size() > kMaxFile) {
      evidence.leaks.push_back(name + " is too large to search");
    }
    if (token.is_in(name) || token.is_in(read_file(entry.path()))) {
      evidence.leaks.push_back("the token is in " + name);
    }
  }
}

void read_audit(const DemoToken& token, DemoEvidence& evidence) {
  const fs::path& file = evidence.outcome.audit_file;
  std::ifstream lines(file, std::ios::binary);
  bool leaked = false;
  for (std::string line; std::getline(lines, line);) {
    leaked = leaked || token.is_in(line);
    if (auto record = audit::ParsedLine::parse(line))
      evidence.records.push_back(std::move(*record));
  }
  if (leaked) evidence.leaks.push_back("the token is in the audit file");
  audit::VerifyOptions options;
  options.file = file;
  options.vkey = audit::verifier_key(audit_key_file());
  options.vkey_from = "this host's key file";
  evidence.verification = audit::verify(options);
}

}  // namespace

DemoToken::DemoToken(Random& random) : value_(kPrefix) {
  static constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  for (std::size_t i = 0; i < kRandomLetters; ++i) {
    value_ += kLetters[random.below(static_cast<std::uint32_t>(kLetters.size()))];
  }
  forms_ = {value_, value_.substr(0, DemoOrigin::kCut), value_.substr(DemoOrigin::kCut),
            hex_encode(as_bytes(value_)), std::string(value_.rbegin(), value_.rend())};
  for (std::size_t lead = 0; lead < 3; ++lead) forms_.push_back(base64_core(value_, lead));
}

DemoToken::~DemoToken() {
  wipe(value_.data(), value_.size());
  for (std::string& form : forms_) wipe(form.data(), form.size());
}

std::string DemoToken::shortened() const { return value_.substr(0, kShown) + kEllipsis; }

bool DemoToken::is_in(std::string_view text) const {
  return std::any_of(forms_.begin(), forms_.end(), [&](const std::string& form) {
    return text.find(form) != std::string_view::npos;
  });
}

std::string DemoToken::shorten(std::string text) const {
  const auto replace_all = [&text](std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  };
  replace_all(value_, shortened());
  replace_all(std::string_view(value_).substr(0, DemoOrigin::kCut), shortened());
  replace_all(std::string_view(value_).substr(DemoOrigin::kCut), "…(its other half)");
  for (const std::string& form : forms_) replace_all(form, kEllipsis);
  return text;
}

bool DemoEvidence::ran() const {
  const auto left_a_code = [&](const DemoCommand& command) {
    const auto found = commands.find(command.step);
    return found != commands.end() && found->second.exit_code >= 0;
  };
  return std::all_of(demo_commands().begin(), demo_commands().end(), left_a_code);
}

DemoEvidence collect_evidence(const fs::path& workspace, const DemoToken& token,
                              const DemoOrigin& origin, RunOutcome outcome) {
  DemoEvidence evidence;
  evidence.outcome = std::move(outcome);
  evidence.origin_address = origin.address();
  evidence.requests = origin.requests();
  for (const DemoCommand& command : demo_commands()) {
    const std::string step(command.step);
    const std::string code = read_file(workspace / (step + ".code"));
    CommandOutcome& done = evidence.commands[step];
    done.output = read_file(workspace / (step + ".out"));
    if (!code.empty()) done.exit_code = std::atoi(code.c_str());
  }
  evidence.placeholder = variable_in(evidence.commands["environment"].output, kDemoVariable);
  search_files(workspace, token, evidence);
  read_audit(token, evidence);
  return evidence;
}

}  // namespace warder
