#include "audit/reader.hpp"

#include <stdexcept>

#include "audit/anchor.hpp"
#include "audit/json_text.hpp"
#include "audit/walk.hpp"

namespace warder::audit {

std::optional<ParsedLine> read_line(std::string_view bytes) {
  if (harmless(bytes) != bytes) return std::nullopt;
  return ParsedLine::parse(bytes);
}

ReadCounts read_records(const std::filesystem::path& file,
                        const std::function<void(const ReadRecord&)>& each,
                        const Verification* verified) {
  std::string why;
  const Fd fd = open_for_reading(file, why);
  if (!fd) throw std::runtime_error(why);
  LineReader reader(fd.get());
  Tree tree;
  ReadCounts counts;
  counts.as_verified = verified == nullptr || verified->covered == 0;
  while (const RawLine* raw = reader.next()) {
    if (!raw->ended) break;  // being written, or torn; verify says which
    const Digest leaf = leaf_hash(raw->bytes);
    tree.append(leaf);
    if (verified != nullptr && tree.size() == verified->covered)
      counts.as_verified = to_base64(tree.root()) == verified->root;
    const auto line = raw->too_long ? std::nullopt : read_line(raw->bytes);
    if (line) {
      ++counts.records;
      each({raw->bytes, *line, leaf});
    } else {
      ++counts.not_records;
    }
  }
  if (reader.error()) throw std::runtime_error(file.string() + ": " + reader.error().message());
  return counts;
}

}  // namespace warder::audit
