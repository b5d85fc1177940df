#include "http/cookies.hpp"

namespace warder {

void join_cookies(HeaderList& fields) {
  if (fields.count("Cookie") < 2) return;
  std::string joined;
  for (const HeaderField& field : fields) {
    if (!same_name(field.name, "Cookie") || field.value.empty()) continue;
    if (!joined.empty()) joined += "; ";
    joined += field.value;
  }
  fields.set("Cookie", std::move(joined));
}

}  // namespace warder
