// What makes browsers trust certificates: managed policies, since they read neither a bundle nor a variable.
#pragma once

#include <string>

namespace warder {

// For Chromium and Chrome: its policy CACertificates with each certificate of `pem`.
std::string chromium_policy(const std::string& pem);

// For Firefox: `policies`, the host's own policies.json or empty, with `certificate` (a path of a PEM file) among those
// that Certificates.Install names. What is no policies.json is replaced.
std::string firefox_policies(const std::string& policies, const std::string& certificate);

}  // namespace warder
