#include "secrets/encodings.hpp"

#include <algorithm>
#include <utility>

#include "base/encoding.hpp"
#include "http/chars.hpp"
#include "secrets/secret_value.hpp"

namespace warder {
namespace {

constexpr std::size_t kMinForm = 8;  // shorter ones would occur in ordinary text

class Forms {
 public:
  Forms() { forms_.reserve(kMaxForms); }

  // Takes what spells the value; wipes it when the form is not needed.
  void add(std::string pattern, std::string replacement, std::string_view encoding) {
    const auto same = [&](const EncodedForm& form) { return form.pattern == pattern; };
    if (pattern.size() < kMinForm || std::any_of(forms_.begin(), forms_.end(), same)) {
      wipe(pattern);
      return;
    }
    forms_.push_back({std::move(pattern), std::move(replacement), encoding});
    wipe(pattern);
  }
  std::vector<EncodedForm> take() { return std::move(forms_); }

 private:
  std::vector<EncodedForm> forms_;
};

// Base64 of `text` as it stands `before` bytes (modulo 3) into a longer text, from the first
// character that depends on it alone, `size` characters of them. `next` is the byte that follows.
std::string base64_slice(std::string_view text, std::size_t before, unsigned next,
                         Base64Alphabet alphabet, std::size_t drop_last) {
  std::string plain;
  plain.reserve(before + text.size() + 1);
  plain.append(before, '\0').append(text).push_back(static_cast<char>(next));
  std::string coded = base64_encode(plain, alphabet, Base64Padding::no);
  wipe(plain);
  const std::size_t lead = before == 0 ? 0 : before + 1;
  const std::size_t end = (8 * (before + text.size()) + 5) / 6 - drop_last;
  std::string slice = coded.substr(lead, end - lead);
  wipe(coded);
  return slice;
}

// The last character also holds the first bits of the byte behind the value; there is a form for
// each of their values, so that what follows is decoded as it was. Zero bits are also the form at
// the end of the text, whose '=' stay. One form lacks that character: for texts that break off or
// wrap there. The first character, where it also holds bits of the byte before, is left: see
// docs/masking.md.
void add_base64(Forms& forms, std::string_view value, std::string_view placeholder,
                Base64Alphabet alphabet) {
  const std::string_view name = alphabet == Base64Alphabet::url ? "base64url" : "base64";
  for (std::size_t before = 0; before < 3; ++before) {
    const std::size_t rest = (before + value.size()) % 3;
    const unsigned free_bits = rest == 0 ? 0 : rest == 1 ? 4 : 2;
    const auto add = [&](unsigned next, std::size_t drop_last) {
      forms.add(base64_slice(value, before, next, alphabet, drop_last),
                base64_slice(placeholder, before, next, alphabet, drop_last), name);
    };
    for (unsigned bits = 0; bits < 1U << free_bits; ++bits) add(bits << (8 - free_bits), 0);
    if (free_bits != 0) add(0, 1);
  }
}

// What stands for the value inside longer base64 must not move the bytes behind it within their
// groups.
std::string with_same_phase(std::string_view placeholder, std::size_t value_size) {
  std::string text(placeholder);
  while (text.size() % 3 != value_size % 3) text += '.';
  return text;
}

std::string upper_hex(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

void add_hex(Forms& forms, std::string_view value, std::string_view placeholder) {
  forms.add(hex_encode(as_bytes(value)), hex_encode(as_bytes(placeholder)), "hex");
  forms.add(upper_hex(hex_encode(as_bytes(value))), upper_hex(hex_encode(as_bytes(placeholder))),
            "hex");
}

std::string percent_byte(char c) { return "%" + upper_hex(hex_encode(as_bytes({&c, 1}))); }

std::string lower_escapes(std::string text) {
  for (std::size_t at = 0; at + 2 < text.size(); ++at) {
    if (text[at] != '%') continue;
    for (std::size_t i = at + 1; i <= at + 2; ++i) {
      if (text[i] >= 'A' && text[i] <= 'F') text[i] = static_cast<char>(text[i] - 'A' + 'a');
    }
  }
  return text;
}

// As many bytes of the placeholder are escaped as of the value: that keeps the length.
void add_percent(Forms& forms, std::string_view value, std::string_view placeholder,
                 std::string_view unescaped) {
  std::string coded;
  coded.reserve(3 * value.size());
  std::size_t escapes = 0;
  for (const char c : value) {
    const bool plain = is_alnum(c) || unescaped.find(c) != std::string_view::npos;
    if (plain) {
      coded += c;
    } else {
      coded += percent_byte(c);
      ++escapes;
    }
  }
  if (escapes != 0) {
    const std::size_t plain = placeholder.size() - std::min(escapes, placeholder.size());
    std::string replacement(placeholder.substr(0, plain));
    for (const char c : placeholder.substr(plain)) replacement += percent_byte(c);
    forms.add(lower_escapes(coded), lower_escapes(replacement), "percent");
    forms.add(std::string(coded), std::move(replacement), "percent");
  }
  wipe(coded);
}

void add_json(Forms& forms, std::string_view value, std::string_view placeholder,
              std::string_view escaped) {
  std::string coded;
  coded.reserve(2 * value.size());
  for (const char c : value) {
    if (escaped.find(c) != std::string_view::npos) coded += '\\';
    coded += c;
  }
  forms.add(std::move(coded), std::string(placeholder), "json");
}

}  // namespace

std::vector<EncodedForm> encoded_forms(std::string_view value, std::string_view placeholder) {
  Forms forms;
  forms.add(std::string(value), std::string(placeholder), "raw");
  const std::string in_phase = with_same_phase(placeholder, value.size());
  add_base64(forms, value, in_phase, Base64Alphabet::standard);
  add_base64(forms, value, in_phase, Base64Alphabet::url);
  add_hex(forms, value, placeholder);
  // Every other spelling is read as the characters that it stands for. Where the value itself holds what could be
  // an escape, reading may go too far: these are exact.
  if (value.find_first_of("%\\&") != std::string_view::npos) {
    add_percent(forms, value, placeholder, "-._~");       // RFC 3986
    add_percent(forms, value, placeholder, "-._~!*'()");  // encodeURIComponent
    add_json(forms, value, placeholder, "\"\\");
    add_json(forms, value, placeholder, "\"\\/");
  }
  return forms.take();
}

}  // namespace warder
