#include "http/message.hpp"

#include <algorithm>
#include <utility>

#include "http/chars.hpp"

namespace warder {

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return to_lower(x) == to_lower(y);
         });
}

void HeaderList::add(std::string name, std::string value) {
  fields_.push_back({std::move(name), std::move(value)});
}

const HeaderField* HeaderList::find(std::string_view name) const {
  const auto at = std::find_if(fields_.begin(), fields_.end(),
                               [&](const HeaderField& f) { return same_name(f.name, name); });
  return at == fields_.end() ? nullptr : &*at;
}

std::size_t HeaderList::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(fields_.begin(), fields_.end(),
                    [&](const HeaderField& f) { return same_name(f.name, name); }));
}

void HeaderList::remove(std::string_view name) {
  std::erase_if(fields_, [&](const HeaderField& f) { return same_name(f.name, name); });
}

void HeaderList::set(std::string_view name, std::string value) {
  const auto first = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const HeaderField& f) { return same_name(f.name, name); });
  if (first == fields_.end()) return add(std::string(name), std::move(value));
  first->value = std::move(value);
  const auto rest = std::remove_if(first + 1, fields_.end(),
                                   [&](const HeaderField& f) { return same_name(f.name, name); });
  fields_.erase(rest, fields_.end());
}

bool HeaderList::has_token(std::string_view name, std::string_view token) const {
  for (const HeaderField& field : fields_) {
    if (!same_name(field.name, name)) continue;
    std::string_view rest = field.value;
    for (;;) {
      const std::size_t comma = rest.find(',');
      if (same_name(trim(rest.substr(0, comma)), token)) return true;
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return false;
}

}  // namespace warder
