#include "policy/public_suffix.hpp"

#include <libpsl.h>

#include <stdexcept>

namespace warder {
namespace {

const psl_ctx_t* list() {
  const psl_ctx_t* built_in = psl_builtin();
  if (built_in == nullptr)
    throw std::runtime_error("libpsl has no Public Suffix List built in: install one that has");
  return built_in;
}

}  // namespace

bool is_public_suffix(const HostName& host) {
  if (host.is_address()) return false;
  return psl_is_public_suffix2(list(), host.str().c_str(), PSL_TYPE_ANY | PSL_TYPE_NO_STAR_RULE) !=
         0;
}

std::string registrable_domain(const HostName& host) {
  if (host.is_address()) return "";
  const char* domain = psl_registrable_domain(list(), host.str().c_str());
  return domain == nullptr ? "" : domain;
}

}  // namespace warder
