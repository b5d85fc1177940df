// The two ways to say "it did not work": Result for the data path, ConfigError-like exceptions for start-up.
#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

namespace warder {

using error_code = boost::system::error_code;

// A value, or an error_code.
template <class T = void>
using Result = boost::system::result<T>;

}  // namespace warder
