#include "http/coding.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "http/chars.hpp"

namespace warder {
namespace {

template <class Each>
void for_each_member(std::string_view list, Each each) {
  for (;;) {
    const std::size_t comma = list.find(',');
    const std::string_view member = trim(list.substr(0, comma));
    if (!member.empty()) each(member);
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

std::optional<Coding> coding_named(std::string_view name) {
  if (same_name(name, "gzip") || same_name(name, "x-gzip")) return Coding::gzip;
  if (same_name(name, "deflate")) return Coding::deflate;
  if (same_name(name, "br")) return Coding::br;
  if (same_name(name, "zstd")) return Coding::zstd;
  return std::nullopt;
}

// "gzip;q=0.5": its name; its weight is not above zero.
std::string_view name_of(std::string_view member) {
  return trim(member.substr(0, member.find(';')));
}

bool is_refused(std::string_view member) {
  const std::size_t semicolon = member.find(';');
  if (semicolon == std::string_view::npos) return false;
  const std::string_view weight = trim(member.substr(semicolon + 1));
  if (weight.size() < 3 || to_lower(weight[0]) != 'q' || weight[1] != '=') return false;
  return weight.substr(2).find_first_not_of("0.") == std::string_view::npos;
}

struct Kept {
  std::string members;
  bool all = true;  // nothing was left out
  bool any_star_refused = false;
  bool names_identity = false;
};

template <class IsKnown>
Kept keep(const HeaderList& fields, std::string_view field_name, IsKnown is_known) {
  Kept kept;
  for (const HeaderField& field : fields) {
    if (!same_name(field.name, field_name)) continue;
    for_each_member(field.value, [&](std::string_view member) {
      const std::string_view name = name_of(member);
      kept.names_identity |= same_name(name, "identity");
      kept.any_star_refused |= name == "*" && is_refused(member);
      if (!is_known(name)) {
        kept.all = false;
        return;
      }
      if (!kept.members.empty()) kept.members += ", ";
      kept.members += member;
    });
  }
  return kept;
}

}  // namespace

std::string_view to_string(Coding coding) {
  switch (coding) {
    case Coding::gzip: return "gzip";
    case Coding::deflate: return "deflate";
    case Coding::br: return "br";
    case Coding::zstd: return "zstd";
  }
  return "";
}

ContentCodings content_codings(const HeaderList& fields) {
  ContentCodings codings;
  for (const HeaderField& field : fields) {
    if (!same_name(field.name, "content-encoding")) continue;
    for_each_member(field.value, [&](std::string_view member) {
      if (same_name(member, "identity")) return;
      const auto coding = coding_named(member);
      if (!coding || codings.applied.size() == kMaxCodings)
        codings.known = false;
      else
        codings.applied.push_back(*coding);
    });
  }
  return codings;
}

void keep_known_codings(HeaderList& fields) {
  if (!fields.has("accept-encoding")) {
    fields.add("Accept-Encoding", "identity");
    return;
  }
  Kept kept = keep(fields, "accept-encoding", [](std::string_view name) {
    return coding_named(name).has_value() || same_name(name, "identity");
  });
  if (kept.members.empty())
    kept.members = "identity";
  else if (kept.all)
    return;  // as it came
  else if (kept.any_star_refused && !kept.names_identity)
    kept.members += ", identity;q=0";
  fields.set("accept-encoding", kept.members);
}

void keep_known_grpc_encodings(HeaderList& fields) {
  constexpr std::string_view kField = "grpc-accept-encoding";
  if (!fields.has(kField)) return;
  Kept kept = keep(fields, kField, [](std::string_view name) {
    return same_name(name, "identity") || same_name(name, "gzip") || same_name(name, "deflate");
  });
  if (kept.all && !kept.members.empty()) return;
  fields.set(kField, kept.members.empty() ? "identity" : kept.members);
}

}  // namespace warder
