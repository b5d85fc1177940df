// Awaiting the audit log from a coroutine: nothing goes on before the record is as durable as asked.
#pragma once

#include <optional>

#include "audit/log.hpp"
#include "proxy/io.hpp"

namespace warder {

// The record's sequence, or nullopt: the log cannot take it, and the exchange must not go on.
Task<std::optional<std::uint64_t>> record(audit::Log& log, audit::Record what,
                                          audit::Durability durability, unsigned reserve);

}  // namespace warder
