// The values of URLs' queries are nobody's business: signatures and keys stand there. Records name them by their place.
#pragma once

#include <string>
#include <string_view>

namespace warder {

// Each query and fragment of a URL in `text` is "[query]": "https://a.test/x?sig=1 -v" is "https://a.test/x?[query] -v".
std::string without_queries(std::string_view text);

}  // namespace warder
