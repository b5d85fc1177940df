// Audit records as events of OCSF 1.8, a view for SIEMs: what is signed is the record.
#pragma once

#include <boost/json/object.hpp>
#include <map>
#include <string>
#include <vector>

#include "audit/reader.hpp"

namespace warder {

inline constexpr const char* kOcsfVersion = "1.8.0";

// Feeds on the records of a file in order. One event for each record, and a finding more for a tripwire.
class OcsfMapper {
 public:
  std::vector<boost::json::object> events(const audit::ReadRecord& record);

 private:
  using object = boost::json::object;
  struct Open {
    std::string method, authority, path, decision;
    bool swaps = false;
  };

  object event(unsigned class_uid, unsigned activity, unsigned severity) const;
  object exchange(const Open& of, bool is_intent) const;
  object intent() const;
  object receipt(const Open& of) const;
  object look_up() const;
  object dial() const;
  object secret() const;
  object policy() const;
  object approval() const;
  object lifecycle() const;
  object process() const;
  object stranger() const;
  object other() const;
  object finding(const Open& of) const;
  object mapped(const Open& of) const;

  const audit::ParsedLine* line_ = nullptr;  // during events()
  std::string leaf_;
  std::string origin_;
  std::map<std::uint64_t, Open> open_;  // intents, by seq
};

}  // namespace warder
