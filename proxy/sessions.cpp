#include "proxy/sessions.hpp"

#include <algorithm>

namespace warder {

void Sessions::add(std::shared_ptr<Session> session) {
  const std::scoped_lock lock(mutex_);
  sessions_.push_back(std::move(session));
  spread_placeholders();
}

void Sessions::remove(std::string_view id) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(sessions_, [&](const auto& session) { return session->id == id; });
  spread_placeholders();
}

std::vector<std::shared_ptr<Session>> Sessions::list() const {
  const std::scoped_lock lock(mutex_);
  return sessions_;
}

void Sessions::spread_placeholders() {
  for (const auto& session : sessions_) {
    std::vector<std::string> foreign;
    for (const auto& other : sessions_) {
      if (other == session) continue;
      for (const Credential& credential : other->secrets->credentials())
        foreign.push_back(credential.placeholder);
    }
    session->secrets->set_foreign(foreign.empty() ? nullptr
                                                  : std::make_shared<const Matcher>(foreign));
  }
}

}  // namespace warder
