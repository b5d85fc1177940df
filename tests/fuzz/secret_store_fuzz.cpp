// Invariant: any bytes are a store or a sentence; what is inside a seal is read strictly, so that entries which are
// written again are the same bytes; sealed, they open again, and not with one bit changed.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "secrets/sealed_store.hpp"

namespace {

using namespace warder;

struct Counting final : Random {
  void fill(std::span<std::uint8_t> out) override {
    for (std::uint8_t& byte : out) byte = next++;
  }
  std::uint8_t next = 0;
};

const std::string kKey(kStoreKeyBytes, 'k');

void check_whole(std::string_view bytes) {
  const auto opened = open_store(bytes, kKey);
  const auto* problem = std::get_if<std::string>(&opened);
  if (problem != nullptr && problem->empty()) std::abort();
  // The header's limits hold whatever the seal says.
  const auto header = store_header(bytes);
  const auto* read = std::get_if<StoreHeader>(&header);
  if (read != nullptr && read->memory > (std::uint64_t{1} << 30)) std::abort();
  if (problem == nullptr && read == nullptr) std::abort();
}

void check_inside(std::string_view bytes) {
  const auto entries = parse_store_entries(bytes);
  if (!entries) return;
  if (as_view(store_entries_text(*entries)) != bytes) std::abort();
  Counting random;
  std::string sealed =
      seal_store(new_store_header(StoreHeader::Kind::key, random), *entries, kKey, random);
  const auto opened = open_store(sealed, kKey);
  const auto* again = std::get_if<std::vector<StoreEntry>>(&opened);
  if (again == nullptr || as_view(store_entries_text(*again)) != bytes) std::abort();
  const std::size_t at = bytes.size() * 7919 % sealed.size();
  sealed[at] = static_cast<char>(sealed[at] ^ 1);
  if (std::holds_alternative<std::vector<StoreEntry>>(open_store(sealed, kKey))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_whole(bytes);
  check_inside(bytes);
  return 0;
}
