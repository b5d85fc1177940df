#include "secrets/shape.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

#include "secrets/shape_tokens.hpp"
#include "secrets/template.hpp"

namespace warder {
namespace {

constexpr std::string_view kBase62 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

// The last six characters are the checksum of those between them and the prefix.
enum class Ending : bool { none, crc };
// Is a value of this form taken for one of this shape?
enum class Infer : bool { no, yes };

struct Row {
  std::string_view shape;
  std::string_view form;
  Ending ending = Ending::none;
  Infer infer = Infer::yes;
};

// A shape's first row is what is made where the value is of none of its forms. Letters and digits alone, also where the
// issuer has '-' and '_' among them.
constexpr auto kRows = std::to_array<Row>({
    {"anthropic", "sk-ant-api03-[A-Za-z0-9]{93}AA"},
    {"anthropic", "sk-ant-admin01-[A-Za-z0-9]{93}AA"},
    {"anthropic", "sk-ant-oat01-[A-Za-z0-9]{93}AA"},
    {"aws-access-key", "AKIA[A-Z2-7]{16}"},
    {"aws-access-key", "ASIA[A-Z2-7]{16}"},
    {"aws-secret-key", "[A-Za-z0-9]{40}", Ending::none, Infer::no},
    {"base62", "[A-Za-z0-9]{1,4096}", Ending::none, Infer::no},
    {"databricks", "dapi[0-9a-f]{32}"},
    {"databricks", "dapi[0-9a-f]{32}-[0-9]"},
    {"digitalocean", "dop_v1_[0-9a-f]{64}"},
    {"digitalocean", "doo_v1_[0-9a-f]{64}"},
    {"digitalocean", "dor_v1_[0-9a-f]{64}"},
    {"doppler", "dp.pt.[A-Za-z0-9]{43}"},
    {"fly", "fo1_[A-Za-z0-9]{43}"},
    {"github-app", "ghs_[A-Za-z0-9]{36}", Ending::crc},
    {"github-fine-grained", "github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"},
    {"github-pat", "ghp_[A-Za-z0-9]{36}", Ending::crc},
    {"github-pat", "gho_[A-Za-z0-9]{36}", Ending::crc},
    {"github-pat", "ghu_[A-Za-z0-9]{36}", Ending::crc},
    {"github-pat", "ghs_[A-Za-z0-9]{36}", Ending::crc},
    {"github-pat", "ghr_[A-Za-z0-9]{36}", Ending::crc},
    {"github-pat", "ghr_[A-Za-z0-9]{76}", Ending::crc},
    {"gitlab-pat", "glpat-[A-Za-z0-9]{20}"},
    {"gitlab-pat", "glpat-[A-Za-z0-9]{27,300}.[0-9a-z]{9}"},
    {"gitlab-pat", "glpat-[A-Za-z0-9]{27,300}.[0-9a-z]{2}.[0-9a-z]{9}"},
    {"google-api-key", "AIza[A-Za-z0-9]{35}"},
    {"grafana", "glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"},
    {"groq", "gsk_[A-Za-z0-9]{52}"},
    {"hex", "[0-9a-f]{32,4096}"},
    {"hex", "[0-9A-F]{32,4096}"},
    {"hf", "hf_[A-Za-z]{34}"},
    {"linear", "lin_api_[A-Za-z0-9]{40}"},
    {"notion", "ntn_[0-9]{11}[A-Za-z0-9]{35}"},
    {"notion", "secret_[A-Za-z0-9]{43}"},
    {"npm", "npm_[A-Za-z0-9]{36}", Ending::crc},
    {"openai", "sk-proj-[A-Za-z0-9]{74}T3BlbkFJ[A-Za-z0-9]{74}"},
    {"openai", "sk-proj-[A-Za-z0-9]{58}T3BlbkFJ[A-Za-z0-9]{58}"},
    {"openai", "sk-proj-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"},
    {"openai", "sk-svcacct-[A-Za-z0-9]{74}T3BlbkFJ[A-Za-z0-9]{74}"},
    {"openai", "sk-svcacct-[A-Za-z0-9]{58}T3BlbkFJ[A-Za-z0-9]{58}"},
    {"openai", "sk-svcacct-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"},
    {"openai", "sk-admin-[A-Za-z0-9]{74}T3BlbkFJ[A-Za-z0-9]{74}"},
    {"openai", "sk-admin-[A-Za-z0-9]{58}T3BlbkFJ[A-Za-z0-9]{58}"},
    {"openai", "sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"},
    {"openrouter", "sk-or-v1-[0-9a-f]{64}"},
    {"perplexity", "pplx-[A-Za-z0-9]{48}"},
    {"replicate", "r8_[A-Za-z0-9]{37}"},
    {"sendgrid", "SG.[A-Za-z0-9]{22}.[A-Za-z0-9]{43}"},
    {"slack-app", "xapp-1-A[A-Z0-9]{10}-[0-9]{13}-[0-9a-f]{64}"},
    {"slack-app", "xapp-1-A[A-Z0-9]{8,12}-[0-9]{10,13}-[0-9a-f]{64}"},
    {"slack-bot", "xoxb-[0-9]{12}-[0-9]{13}-[A-Za-z0-9]{24}"},
    {"slack-bot", "xoxb-[0-9]{10,13}-[0-9]{10,13}-[A-Za-z0-9]{24}"},
    {"slack-bot", "xoxb-[0-9]{8,14}-[A-Za-z0-9]{18,26}"},
    {"slack-user", "xoxp-[0-9]{12}-[0-9]{12}-[0-9]{13}-[0-9a-f]{32}"},
    {"slack-user", "xoxp-[0-9]{10,13}-[0-9]{10,13}-[0-9]{10,13}-[0-9a-f]{28,34}"},
    {"stripe", "sk_test_[A-Za-z0-9]{24,99}"},
    {"stripe", "sk_live_[A-Za-z0-9]{24,99}"},
    {"stripe", "rk_test_[A-Za-z0-9]{24,99}"},
    {"stripe", "rk_live_[A-Za-z0-9]{24,99}"},
    {"stripe", "pk_test_[A-Za-z0-9]{24,99}"},
    {"stripe", "pk_live_[A-Za-z0-9]{24,99}"},
    {"stripe", "whsec_[A-Za-z0-9]{32,64}"},
    {"twilio", "SK[0-9a-f]{32}"},
    {"twilio", "AC[0-9a-f]{32}"},
    {"uuid", "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"},
    {"uuid", "[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}"},
    {"vault", "hvs.[A-Za-z0-9]{90,300}"},
    {"vault", "hvb.[A-Za-z0-9]{90,300}"},
    {"vault", "hvs.[A-Za-z0-9]{24,90}"},
    {"xai", "xai-[A-Za-z0-9]{80}"},
});

struct Form {
  const Row* row;
  Template text;
};

const std::vector<Form>& forms() {
  static const std::vector<Form> kForms = [] {
    std::vector<Form> all;
    for (const Row& row : kRows) all.push_back({&row, Template(row.form)});
    return all;
  }();
  return kForms;
}

// A UUID of any version, in one case.
bool is_uuid(std::string_view value, bool upper) {
  static const Template kLower("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  static const Template kUpper("[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}");
  return (upper ? kUpper : kLower).match(value, Template::Match::exact).has_value();
}

bool is_digits(std::string_view value) {
  return value.find_first_not_of("0123456789") == std::string_view::npos;
}

bool fits(const Form& form, std::string_view value) {
  const bool upper = form.text.can_make('F') && !form.text.can_make('f');
  if (form.row->shape == "uuid") return is_uuid(value, upper);
  if (form.row->shape == "hex" && is_digits(value)) return false;
  return form.text.match(value, Template::Match::loose).has_value();
}

const Form* form_of(std::string_view value) {
  for (const Form& form : forms()) {
    if (form.row->infer == Infer::yes && fits(form, value)) return &form;
  }
  return nullptr;
}

// Of the shape's forms the one that the value has; else one that begins as it does, and else the first.
const Form* form_of(std::string_view name, std::string_view value) {
  const Form* first = nullptr;
  const Form* alike = nullptr;
  for (const Form& form : forms()) {
    if (form.row->shape != name) continue;
    if (fits(form, value)) return &form;
    if (first == nullptr) first = &form;
    const bool begins = !form.text.prefix().empty() && value.starts_with(form.text.prefix());
    if (begins && alike == nullptr) alike = &form;
  }
  return alike != nullptr ? alike : first;
}

std::string filled(const Form& form, std::string_view value, Random& random) {
  std::string text = form.text.fill(form.text.counts_for(value, Template::Match::loose), random);
  if (form.row->ending == Ending::crc) {
    text.resize(text.size() - 6);
    text += base62_crc32(std::string_view(text).substr(form.text.prefix().size()));
  }
  return text;
}

}  // namespace

const std::vector<std::string>& shape_names() {
  static const std::vector<std::string> kNames = [] {
    std::set<std::string> names{"jwt", "pypi"};
    for (const Row& row : kRows) names.emplace(row.shape);
    return std::vector<std::string>(names.begin(), names.end());
  }();
  return kNames;
}

std::string random_base62(std::size_t size, Random& random) {
  std::string out;
  while (out.size() < size) out += kBase62[random.below(kBase62.size())];
  return out;
}

std::optional<std::string> make_shaped(std::string_view name, std::string_view value,
                                       Random& random) {
  if (name == "jwt") return make_jwt(value, random);
  if (name == "pypi") return make_pypi(value, random);
  return filled(*form_of(name, value), value, random);
}

std::optional<std::string> make_inferred(std::string_view value, Random& random) {
  if (const Form* form = form_of(value)) return filled(*form, value, random);
  if (auto token = make_jwt(value, random)) return token;
  return make_pypi(value, random);
}

std::string shaped_prefix(std::string_view name, std::string_view value) {
  if (name == "jwt") return "";
  if (name == "pypi") return "pypi-";
  return std::string(form_of(name, value)->text.prefix());
}

std::string inferred_prefix(std::string_view value) {
  const Form* form = form_of(value);
  return form == nullptr ? "" : std::string(form->text.prefix());
}

bool has_issuers_form(std::string_view value) {
  return std::any_of(forms().begin(), forms().end(), [&](const Form& form) {
    return !form.text.prefix().empty() && fits(form, value);
  });
}

}  // namespace warder
