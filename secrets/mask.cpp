#include "secrets/mask.hpp"

#include <algorithm>
#include <utility>

#include "http/chars.hpp"
#include "secrets/encodings.hpp"

namespace warder {

using Input = StreamScanner::Input;

namespace {

bool is_token_byte(char c) {
  return is_alnum(c) || std::string_view("+/=_-%\\").find(c) != std::string_view::npos;
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
  for (std::string& text : texts) wipe(text);
}

MaskSet::~MaskSet() = default;

bool MaskSet::empty() const { return matcher_->empty(); }
bool MaskSet::changes_length() const { return changes_length_; }

std::size_t MaskSet::undecided(std::string_view text) const {
  const std::size_t most = std::min(text.size(), std::max<std::size_t>(matcher_->longest(), 1) - 1);
  std::size_t n = 0;
  while (n < most) {
    const char c = text[text.size() - 1 - n];
    const bool fits = shape_ == Shape::token     ? is_token_byte(c)
                      : shape_ == Shape::visible ? is_visible_byte(c)
                                                 : is_visible_byte(c) || c == ' ';
    if (!fits) break;
    ++n;
  }
  return n;
}

std::size_t MaskSet::mask(std::string& text) const {
  StreamScanner scanner(*matcher_);
  std::string masked;
  std::size_t copied = 0;
  std::size_t replaced = 0;
  while (const auto hit = scanner.next(text, Input::last)) {
    masked.append(text, copied, hit->begin - copied).append(patterns_[hit->pattern].replacement);
    copied = hit->end;
    ++replaced;
  }
  if (replaced == 0) return 0;
  masked.append(text, copied);
  text.swap(masked);
  wipe(masked);
  return replaced;
}

Masker::Masker(const MaskSet& set, Holding holding)
    : set_(set), holding_(holding), scanner_(*set.matcher_) {}
Masker::~Masker() = default;

std::string_view Masker::feed(std::string_view in, std::string& scratch) {
  return pass(in, Input::more, scratch);
}

std::string_view Masker::finish(std::string& scratch) { return pass({}, Input::last, scratch); }

std::string_view Masker::pass(std::string_view in, Input input, std::string& scratch) {
  std::string_view text = in;
  if (!held_.empty()) {
    scratch.assign(as_view(held_));
    scratch.append(in);
    text = scratch;
  }
  std::string masked;
  std::size_t copied = 0;
  while (const auto hit = scanner_.next(text, input)) {
    const MaskSet::Pattern& pattern = set_.patterns_[hit->pattern];
    masked.append(text, copied, hit->begin - copied).append(pattern.replacement);
    copied = hit->end;
    count(pattern);
  }
  std::size_t settled = scanner_.settled();
  if (input == Input::more && holding_ == Holding::words) {
    settled = std::min(settled, text.size() - set_.undecided(text.substr(copied)));
  }
  const std::string_view rest = text.substr(settled);
  held_.assign(rest.begin(), rest.end());
  scanner_.drop(settled);
  if (copied == 0) return text.substr(0, settled);

  masked.append(text, copied, settled - copied);
  scratch.swap(masked);
  wipe(masked);
  return scratch;
}

void Masker::count(const MaskSet::Pattern& pattern) {
  for (Count& entry : counts_) {
    if (entry.secret == pattern.secret && entry.encoding == pattern.encoding) {
      ++entry.count;
      return;
    }
  }
  counts_.push_back({pattern.secret, pattern.encoding, 1});
}

}  // namespace warder
