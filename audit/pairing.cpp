#include "audit/pairing.hpp"

namespace warder::audit {

std::optional<std::string> Pairing::feed(const ParsedLine& line) {
  if (line.type == "intent" && line.text("decision") != "deny") {
    waiting_[line.seq] = {line.text("session"), line.number("exchange").value_or(0)};
  } else if (line.type == "receipt") {
    return receipt(line);
  } else if (line.type == "resume") {
    // The exchanges of the run before died with it.
    lost_ += waiting_.size();
    waiting_.clear();
    const boost::json::value* clean = line.members.if_contains("clean");
    if (clean == nullptr || !clean->is_bool() || !clean->get_bool()) ++crashes_;
  }
  return std::nullopt;
}

std::optional<std::string> Pairing::receipt(const ParsedLine& line) {
  const auto intent = line.number("intent_seq");
  const auto found = intent ? waiting_.find(*intent) : waiting_.end();
  if (found == waiting_.end()) return "a receipt without an open intent";
  if (found->second != Exchange{line.text("session"), line.number("exchange").value_or(0)}) {
    return "a receipt whose intent " + std::to_string(*intent) + " belongs to another exchange";
  }
  waiting_.erase(found);
  return std::nullopt;
}

}  // namespace warder::audit
