#include "secrets/source.hpp"

#include <utility>

namespace warder {

Reading Reading::of(SecretValue value) {
  Reading reading;
  reading.state = State::value;
  reading.value = std::make_shared<const SecretValue>(std::move(value));
  return reading;
}

Reading Reading::failed(std::string problem) {
  Reading reading;
  reading.problem = std::move(problem);
  return reading;
}

Reading checked_value(std::string_view plain, const std::string& source) {
  if (auto why = refuse_value(plain)) return Reading::failed("the value of " + source + " " + *why);
  return Reading::of(SecretValue(plain));
}

std::string_view without_line_break(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(text.ends_with("\r\n") ? 2 : 1);
  return text;
}

std::string printable_text(std::string_view text, std::size_t most) {
  std::string out;
  for (const char c : text.substr(0, most)) {
    const bool plain =
        static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f;
    out += plain ? c : c == '\n' || c == '\t' ? ' ' : '?';
  }
  while (out.ends_with(' ')) out.pop_back();
  if (text.size() > most) out += " …";
  return out;
}

}  // namespace warder
