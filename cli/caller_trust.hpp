// The certificates that the caller's own environment tells programs to trust, such as those of a company.
#pragma once

#include <string>
#include <vector>

namespace warder {

struct CallerTrust {
  std::string pem;                 // certificates and nothing else
  std::vector<std::string> notes;  // what was named and could not be taken over
};

// Of the files that SSL_CERT_FILE, NODE_EXTRA_CA_CERTS and the other variables of trust_variables() name in this process's
// environment; the system's own bundle is left out. Never throws for what is in them. An SSL_CERT_FILE that cannot be taken over
// is taken out of the environment: before a gateway is made and before there are threads.
CallerTrust caller_trust();

}  // namespace warder
