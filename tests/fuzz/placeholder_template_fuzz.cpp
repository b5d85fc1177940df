// Invariant: a template is refused at a place within it, or what it makes is of its own form, within its bounds, and of
// characters that need no escape. The input is the template, a line break, and a value.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/chars.hpp"
#include "secrets/placeholder.hpp"
#include "secrets/template.hpp"

namespace {

using namespace warder;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Counter final : Random {
  void fill(std::span<std::uint8_t> out) override {
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(next = next * 29 + 17);
  }
  std::uint8_t next = 0;
};

bool is_plain(char c) { return is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~'; }

void check(const Template& form, std::string_view value) {
  Counter random;
  for (const auto match : {Template::Match::exact, Template::Match::loose}) {
    const Template::Counts counts = form.counts_for(value, match);
    const std::string made = form.fill(counts, random);
    require(made.size() >= form.shortest() && made.size() <= form.longest());
    require(std::all_of(made.begin(), made.end(), is_plain));
    require(made.starts_with(form.prefix()));
    require(form.match(made, Template::Match::exact).has_value());
    require(form.bits(counts) >= std::min(Template::kEnoughBits, form.most_bits()));
  }
  if (const auto own = form.match(value, Template::Match::exact)) {
    require(form.fill(*own, random).size() == value.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view text = input.substr(0, input.find('\n'));
  const std::string_view value = text.size() == size ? "" : input.substr(text.size() + 1);
  try {
    const Template form(text);
    require(form.longest() <= Template::kMaxLength && form.shortest() <= form.longest());
    check(form, value);
    if (refuse_template(form, false) || value.size() < kMinSecretBytes) return 0;
    PlaceholderSpec spec;
    spec.form = form;
    Counter random;
    const std::string made = make_placeholder(value, spec, random);
    require(made.find(value) == std::string::npos);
  } catch (const TemplateError& error) {
    require(error.at >= 1 && error.at <= text.size() + 1);
  } catch (const PlaceholderError&) {
  }
  return 0;
}
