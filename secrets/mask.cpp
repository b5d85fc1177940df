#include "secrets/mask.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "http/chars.hpp"
#include "secrets/encodings.hpp"

namespace warder {

using Input = SpelledScanner::Input;

namespace {

bool is_token_byte(char c) {
  return is_alnum(c) || std::string_view("+/=_-%\\&#;").find(c) != std::string_view::npos;
}

// Values hold no control characters: a line break always decides.
bool is_visible_byte(char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; }

}  // namespace

MaskSet::MaskSet(const std::vector<Entry>& entries) {
  std::vector<std::string> texts;
  texts.reserve(entries.size() * kMaxForms);  // growing would leave copies of short texts behind
  for (const Entry& entry : entries) {
    const auto secret = static_cast<std::uint32_t>(names_.size());
    names_.push_back(entry.name);
    // Their shortest escapes (`\/`, `&lt;`) are shorter than any that spells what stands instead.
    changes_length_ |= entry.value.find_first_of("\"'\\/<>&") != std::string_view::npos;
    for (EncodedForm& form : encoded_forms(entry.value, entry.placeholder)) {
      changes_length_ |= form.pattern.size() != form.replacement.size();
      for (const char c : form.pattern) {
        const Shape needed = is_token_byte(c)     ? Shape::token
                             : is_visible_byte(c) ? Shape::visible
                                                  : Shape::phrase;
        shape_ = std::max(shape_, needed);
      }
      texts.push_back(std::move(form.pattern));
      wipe(form.pattern);
      patterns_.push_back({std::move(form.replacement), secret, form.encoding});
    }
  }
  matcher_ = std::make_unique<Matcher>(texts);
  chars_ = std::make_unique<PatternChars>(texts);
  for (std::string& text : texts) wipe(text);
}

MaskSet::~MaskSet() = default;

bool MaskSet::empty() const { return matcher_->empty(); }
bool MaskSet::changes_length() const { return changes_length_; }

bool MaskSet::fits(char c) const {
  if (shape_ == Shape::token) return is_token_byte(c);
  return is_visible_byte(c) || (shape_ == Shape::phrase && c == ' ');
}

// Not more than the longest form has characters, each in as many bytes as it may be spelled with: counted from the
// end, with an escape as long as it can be wherever one may begin.
std::size_t MaskSet::undecided(std::string_view text) const {
  const std::size_t most = std::max<std::size_t>(matcher_->longest(), 1) - 1;
  std::array<std::size_t, kMaxUnit> characters{};  // from each of the bytes behind on
  std::size_t held = 0;
  for (std::size_t n = 1; n <= text.size() && n - held <= kMaxUnit; ++n) {
    const char c = text[text.size() - n];
    if (!fits(c)) break;
    const bool at_end = n < kMaxUnit;              // an escape here may not be whole yet
    std::size_t& here = characters[n % kMaxUnit];  // as yet that of kMaxUnit bytes behind
    if (begins_escape(c)) {
      here = at_end ? 0 : here + 1;
    } else {
      here = characters[(n - 1) % kMaxUnit] + 1;
    }
    if (here <= most) held = n;
  }
  return held;
}

bool MaskSet::replace(std::string_view text, std::size_t copied, const SpelledScanner::Hit& hit,
                      Lengths lengths, std::string& out) const {
  const auto [begin, end, pattern] = hit.at;
  if (begin < copied) {
    if (end > copied) out.append(end - copied, '*');
    return false;
  }
  out.append(text, copied, begin - copied);
  const std::string_view found = text.substr(begin, end - begin);
  std::string stands = patterns_[pattern].replacement;
  if (hit.found == Found::spelled) stands = respell(found, chars_->wanted(), stands, lengths);
  if (lengths == Lengths::keep && stands.size() != found.size()) stands.assign(found.size(), '*');
  out.append(stands);
  return true;
}

std::size_t MaskSet::mask(std::string& text) const {
  SpelledScanner scanner = this->scanner();
  std::string masked;
  std::size_t copied = 0;
  std::size_t replaced = 0;
  while (const auto hit = scanner.next(text, Input::last)) {
    if (replace(text, copied, *hit, Lengths::follow, masked)) ++replaced;
    copied = std::max(copied, hit->at.end);
  }
  if (replaced == 0) return 0;
  masked.append(text, copied);
  text.swap(masked);
  wipe(masked);
  return replaced;
}

Masker::Masker(const MaskSet& set, Holding holding)
    : set_(&set),
      holding_(holding),
      keeps_lengths_(!set.changes_length()),
      scanner_(set.scanner()) {}
Masker::~Masker() = default;

std::string_view Masker::feed(std::string_view in, std::string& scratch) {
  return pass(in, Input::more, scratch);
}

// What is held stands at the front of the next text, which the new scanner reads from its beginning.
void Masker::go_on_with(const MaskSet& set) {
  set_ = &set;
  scanner_ = set.scanner();
}

std::string_view Masker::finish(std::string& scratch) { return pass({}, Input::last, scratch); }

// A word that comes in small pieces is looked at each time that it has grown by an eighth: an origin that sends it byte by
// byte must not have all of it searched as often. What decides is never what the values are.
bool Masker::can_wait(std::string_view in) const {
  if (holding_ != Holding::words || unseen_ + in.size() > held_.size() / 8) return false;
  return std::all_of(in.begin(), in.end(), [&](char c) { return set_->fits(c); });
}

std::string_view Masker::pass(std::string_view in, Input input, std::string& scratch) {
  if (input == Input::more && can_wait(in)) {
    held_.insert(held_.end(), in.begin(), in.end());
    unseen_ += in.size();
    return {};
  }
  unseen_ = 0;
  std::string_view text = in;
  if (!held_.empty()) {
    scratch.assign(as_view(held_));
    scratch.append(in);
    text = scratch;
  }
  const Lengths lengths = keeps_lengths_ ? Lengths::keep : Lengths::follow;
  std::string masked;
  std::size_t copied = left_;
  while (const auto hit = scanner_.next(text, input)) {
    if (set_->replace(text, copied, *hit, lengths, masked)) {
      count(text.substr(hit->at.begin, hit->at.end - hit->at.begin), *hit);
    }
    copied = std::max(copied, hit->at.end);
  }
  std::size_t settled = scanner_.settled();
  if (input == Input::more && holding_ == Holding::words) {
    settled = std::min(settled, text.size() - set_->undecided(text.substr(copied)));
  }
  const std::string_view rest = text.substr(settled);
  held_.assign(rest.begin(), rest.end());
  scanner_.drop(settled);
  const std::size_t before = std::exchange(left_, std::max(settled, copied) - settled);
  const std::string_view leaves = text.substr(copied, std::max(settled, copied) - copied);
  if (copied == before) return leaves;

  masked.append(leaves);
  scratch.swap(masked);
  wipe(masked);
  return scratch;
}

void Masker::count(std::string_view found, const SpelledScanner::Hit& hit) {
  const auto& [replacement, secret, form] = set_->patterns_[hit.at.pattern];
  const bool by_manner = hit.found == Found::spelled && form == "raw";
  const std::string_view encoding = by_manner ? spelling_name(found, set_->chars_->wanted()) : form;
  for (Count& entry : counts_) {
    if (entry.secret == set_->names_[secret] && entry.encoding == encoding) {
      ++entry.count;
      return;
    }
  }
  counts_.push_back({set_->names_[secret], encoding, 1});
}

}  // namespace warder
