#include "secrets/source_store.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace warder {
namespace {

class StoreSource final : public SecretSource {
 public:
  StoreSource(std::shared_ptr<StoreReader> store, std::string entry)
      : store_(std::move(store)), entry_(std::move(entry)) {}

  Reading read(std::stop_token) override {
    taken_ = FileStamp::of(store_->file());
    auto opened = store_->open();
    if (auto* problem = std::get_if<std::string>(&opened))
      return Reading::failed(std::move(*problem));
    const auto& entries = std::get<StoreReader::Opened>(opened).entries;
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const StoreEntry& entry) { return entry.name == entry_; });
    if (found == entries.end()) return missing();
    Reading reading =
        checked_value(as_view(found->value), "entry " + entry_ + " of the secret store");
    reading.version = found->version;
    return reading;
  }

  bool looks_changed() override { return !(FileStamp::of(store_->file()) == taken_); }

 private:
  // The store is whole and has no such entry: somebody removed it.
  Reading missing() const {
    Reading reading = Reading::failed("the secret store " + store_->file().string() +
                                      " has no entry " + entry_ + ": warder secret set " + entry_);
    reading.state = Reading::State::gone;
    return reading;
  }

  const std::shared_ptr<StoreReader> store_;
  const std::string entry_;
  FileStamp taken_;
};

}  // namespace

StoreReader::StoreReader(std::filesystem::path file, KeyFor key_for)
    : file_(std::move(file)), key_for_(std::move(key_for)) {}

std::string StoreReader::say(const std::string& problem) const {
  return "the secret store " + file_.string() + " " + problem;
}

bool StoreReader::key_fits(const StoreHeader& header) const {
  return key_ && header.kind == key_header_.kind && header.salt == key_header_.salt &&
         header.ops == key_header_.ops && header.memory == key_header_.memory &&
         header.key_id == key_header_.key_id;
}

void StoreReader::take_key(const StoreHeader& header) {
  const WipedBytes key = key_for_(header);
  key_.emplace(as_view(key));
  key_header_ = header;
}

std::variant<StoreReader::Opened, std::string> StoreReader::open() {
  try {
    const auto read = read_store_file(file_);
    if (!read) return say("is not there: warder secret set NAME makes it");
    auto header = store_header(read->bytes);
    if (const auto* problem = std::get_if<std::string>(&header)) return say(*problem);
    Opened opened{std::get<StoreHeader>(header), {}, read->stamp};
    if (!key_fits(opened.header)) take_key(opened.header);
    auto entries = key_->reveal([&](std::string_view key) { return open_store(read->bytes, key); });
    if (const auto* problem = std::get_if<std::string>(&entries)) {
      key_.reset();  // another try asks for it again
      return say(*problem);
    }
    if (opened.header.count < newest_)
      return say(
          "is older than it was: somebody put an old copy back. If that was you, start again");
    newest_ = opened.header.count;
    opened.entries = std::move(std::get<std::vector<StoreEntry>>(entries));
    return opened;
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

std::unique_ptr<SecretSource> store_source(std::shared_ptr<StoreReader> store, std::string entry) {
  return std::make_unique<StoreSource>(std::move(store), std::move(entry));
}

}  // namespace warder
