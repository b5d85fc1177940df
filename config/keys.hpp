// Which keys each map of the configuration has. config/schema.json says the same, and what they mean: a test holds them together.
#pragma once

#include <vector>

#include "config/reader.hpp"

namespace warder {

const Keys& ask_keys();
const Keys& capture_grant_keys();
const Keys& capture_keys();
const Keys& gateway_keys();
const Keys& audit_keys();
const Keys& upstream_keys();
const Keys& pool_keys();
const Keys& grant_keys();
const Keys& certificate_grant_keys();
const Keys& certificate_keys();
const Keys& limit_keys();
const Keys& listener_keys();
const Keys& tls_keys();
const Keys& top_keys();
const Keys& policy_keys();
const Keys& rule_keys();
const Keys& sandbox_keys();
const Keys& secret_keys();
const Keys& placeholder_keys();
const Keys& shape_keys();
const Keys& test_keys();

std::vector<const Keys*> all_keys();

}  // namespace warder
