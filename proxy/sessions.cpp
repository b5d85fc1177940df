#include "proxy/sessions.hpp"

#include <algorithm>

namespace warder {

void Sessions::add(std::shared_ptr<Session> session) {
  const std::scoped_lock lock(mutex_);
  session->secrets.on_change([this] { share(); });
  sessions_.push_back(std::move(session));
  share_placeholders();
}

void Sessions::remove(std::string_view id) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(sessions_, [&](const auto& session) { return session->id == id; });
}

std::vector<std::shared_ptr<Session>> Sessions::list() const {
  const std::scoped_lock lock(mutex_);
  return sessions_;
}

void Sessions::share() {
  const std::scoped_lock lock(mutex_);
  share_placeholders();
}

void Sessions::share_placeholders() {
  if (sessions_.size() < 2) return;
  std::vector<std::string> all;
  std::vector<std::vector<std::uint32_t>> own;
  for (const auto& session : sessions_) {
    auto& ids = own.emplace_back();
    const auto secrets = session->secrets.now();
    for (const Credential& credential : secrets->credentials()) {
      ids.push_back(static_cast<std::uint32_t>(all.size()));
      all.push_back(credential.placeholder);
    }
  }
  std::shared_ptr<const Matcher> table;
  if (!all.empty()) table = std::make_shared<const Matcher>(all);
  for (std::size_t i = 0; i < sessions_.size(); ++i)
    sessions_[i]->secrets.now()->set_foreign(table, std::move(own[i]));
}

}  // namespace warder
