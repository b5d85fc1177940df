// What a rule asks of a request besides host, port, method and path: query, headers, max_body.
#pragma once

#include <cstdint>
#include <vector>

#include "config/reader.hpp"
#include "policy/field_match.hpp"
#include "policy/query_keys.hpp"

namespace warder {

std::vector<QueryKey> read_query(const Reader& reader, const YamlNode& node);
// {NAME: [PATTERN, …]}. Fields that hold credentials, that name the host or that belong to a
// connection are refused with what to write instead.
std::vector<FieldMatch> read_header_matches(const Reader& reader, const YamlNode& node);
// Bytes, or with KiB, MiB or GiB; up to 1024GiB.
std::uint64_t read_size(const Reader& reader, const YamlNode& node, std::string_view key);

}  // namespace warder
