#include "proxy/io.hpp"

namespace warder {
namespace {

struct IoCategory final : boost::system::error_category {
  const char* name() const noexcept override { return "warder.io"; }
  std::string message(int value) const override {
    switch (static_cast<IoError>(value)) {
      case IoError::end_of_stream: return "end of stream";
      case IoError::truncated: return "TLS stream broke off";
      case IoError::reset: return "connection reset";
      case IoError::timed_out: return "timed out";
      case IoError::closed: return "closed";
      case IoError::tls: return "TLS failed";
      case IoError::hello_pending: return "the ClientHello awaits a decision";
    }
    return "unknown";
  }
};

}  // namespace

error_code make_error_code(IoError error) {
  static const IoCategory category;
  return {static_cast<int>(error), category};
}

}  // namespace warder
