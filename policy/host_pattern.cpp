#include "policy/host_pattern.hpp"

#include <algorithm>
#include <optional>

#include "http/chars.hpp"
#include "policy/host_key.hpp"
#include "policy/host_service.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

// What stands around a host when somebody pastes a URL.
struct Pasted {
  std::string_view host;
  std::string_view port;
  std::string_view path;  // with its '/'
};

bool is_blank(char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

Pasted take_apart(std::string_view text) {
  Pasted parts;
  text = without_spaces(text);
  if (const auto scheme = text.find("://"); scheme != std::string_view::npos) {
    text.remove_prefix(scheme + 3);
  }
  if (const auto slash = text.find_first_of("/?#"); slash != std::string_view::npos) {
    parts.path = text.substr(slash);
    text = text.substr(0, slash);
  }
  if (const auto at = text.rfind('@'); at != std::string_view::npos) text.remove_prefix(at + 1);
  const auto bracket = text.starts_with('[') ? text.find(']') : std::string_view::npos;
  const auto colon = bracket == std::string_view::npos ? text.find(':') : text.find(':', bracket);
  const bool bare_v6 = bracket == std::string_view::npos && text.find(':') != text.rfind(':');
  if (colon != std::string_view::npos && !bare_v6) {
    parts.port = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  parts.host = text;
  return parts;
}

std::string_view after_wildcard(std::string_view text) {
  if (text.starts_with("**.")) return text.substr(3);
  return text.starts_with("*.") ? text.substr(2) : text;
}

// "write api.test, ports: [443] and paths: ["/x"]" when the host inside is a good one.
std::string correction(std::string_view text) {
  const Pasted parts = take_apart(text);
  const std::string_view name = after_wildcard(parts.host);
  const Result<HostName> host = HostName::parse(name);
  if (!host) return "";
  const bool has_port = !parts.port.empty() && parts.port.size() <= 5 &&
                        std::all_of(parts.port.begin(), parts.port.end(), is_digit);
  const bool has_path = parts.path.size() > 1 && parts.path.front() == '/';
  const std::string_view wildcard = parts.host.substr(0, parts.host.size() - name.size());
  std::string out = "write " + std::string(wildcard) + host->str();
  if (has_port) out += " and ports: [" + std::string(parts.port) + ']';
  if (has_path) {
    out += " and paths: [" + in_quotes(parts.path.substr(0, parts.path.find_first_of("?#"))) + ']';
  }
  return out + " instead";
}

std::string with_correction(std::string_view text, std::string sentence,
                            std::string_view otherwise = "write the name alone") {
  const std::string better = correction(text);
  return std::move(sentence) + ": " + (better.empty() ? std::string(otherwise) : better);
}

std::string wildcard_fault(std::string_view text) {
  const std::string entry = in_quotes(text);
  if (text == "*" || text == "**") {
    return entry +
           " would mean every host: name the hosts, or write \"*.example.com\" for all below one";
  }
  return entry +
         " has a wildcard where none can stand: only \"*.\" (below a name) or \"**.\" (the name "
         "and "
         "below) may lead, as in \"*.example.com\"";
}

// What is wrong with `text` as a whole, before its labels are looked at.
std::optional<std::string> shape_fault(std::string_view text) {
  const std::string entry = in_quotes(text);
  const auto has = [&](std::string_view any) {
    return text.find_first_of(any) != std::string_view::npos;
  };
  if (text.empty()) return entry + " is no host: write a name such as \"api.example.com\"";
  if (std::any_of(text.begin(), text.end(), is_blank)) {
    return with_correction(text, entry + " has a space or control character in it");
  }
  if (text.find("://") != std::string_view::npos) {
    return with_correction(text, entry + " has a scheme, which a host does not have");
  }
  if (has("/?#")) return with_correction(text, entry + " has a path, which a host does not have");
  if (has("@"))
    return with_correction(text, entry + " has a user name, which a host does not have");
  if (!take_apart(text).port.empty()) {
    return with_correction(text, entry + " has a port, which a host does not have");
  }
  return std::nullopt;
}

std::string label_fault(std::string_view text, error_code error) {
  const std::string entry = in_quotes(text);
  if (text.starts_with('.')) {
    const std::string name(text.substr(std::min(text.find_first_not_of('.'), text.size())));
    return entry + " begins with a dot: write \"**." + name +
           "\" for the name and all below, or \"*." + name + "\" for all below";
  }
  if (error == AuthorityError::odd_ipv4) {
    return entry +
           " is a spelling of an IPv4 address that not everybody reads alike: write four decimal "
           "numbers, such as 192.0.2.1";
  }
  if (error == AuthorityError::bad_label && text.find("..") != std::string_view::npos) {
    std::string name(text);
    while (name.find("..") != std::string::npos) name.erase(name.find(".."), 1);
    return entry + " has an empty label: write \"" + name + '"';
  }
  if (error == AuthorityError::bad_idn) {
    return entry + " is no host name (" + error.message() +
           "): write the name's A-label form, which begins with \"xn--\"";
  }
  return entry + " is no host name (" + error.message() +
         "): write a name such as \"api.example.com\"";
}

bool is_below(std::string_view host, std::string_view apex) {
  return host.size() > apex.size() + 1 && host.ends_with(apex) &&
         host[host.size() - apex.size() - 1] == '.';
}

bool spans(HostPattern::Kind kind, std::string_view base, std::string_view name) {
  switch (kind) {
    case HostPattern::Kind::exact: return name == base;
    case HostPattern::Kind::below: return is_below(name, base);
    case HostPattern::Kind::apex_and_below: return name == base || is_below(name, base);
    case HostPattern::Kind::range: return false;
  }
  return false;
}

// By its text, as what denies reads it: matches() leaves that host to a pattern that is nothing else.
bool spans_host_service(const HostPattern& pattern) {
  if (pattern.is_range()) return false;
  const std::string text = pattern.str();
  return spans(pattern.kind(), after_wildcard(text), kHostServiceName);
}

}  // namespace

std::variant<HostPattern, std::string> HostPattern::parse(std::string_view text) {
  if (text == "*" || text == "**") return wildcard_fault(text);
  if (AddressRange::is_meant(text)) {
    auto range = AddressRange::parse(text);
    if (auto* sentence = std::get_if<std::string>(&range)) return std::move(*sentence);
    return HostPattern(std::get<AddressRange>(std::move(range)));
  }
  if (auto fault = shape_fault(text)) return std::move(*fault);

  const std::string_view name = after_wildcard(text);
  const std::size_t wildcard = text.size() - name.size();
  const Kind kind = wildcard == 0   ? Kind::exact
                    : wildcard == 2 ? Kind::below
                                    : Kind::apex_and_below;
  if (name.find('*') != std::string_view::npos || name.empty()) return wildcard_fault(text);

  Result<HostName> host = HostName::parse(name);
  if (!host) return label_fault(text, host.error());
  if (kind != Kind::exact && host->is_address()) {
    return in_quotes(text) + " puts a wildcard before an address: write " + host->str();
  }
  return HostPattern(kind, std::move(*host));
}

HostPattern::HostPattern(Kind kind, HostName host)
    : kind_(kind), host_(std::move(host)), address_(address_of(*host_)) {}

bool HostPattern::matches(const HostName& host) const {
  if (is_range() || address_) {
    const std::optional<IpAddress> address = address_of(host);
    if (!address) return false;
    return is_range() ? range_->contains(*address) : *address == *address_;
  }
  if (host.is_address()) return false;
  if (is_host_service(host)) return kind_ == Kind::exact && host == *host_;
  return spans(kind_, host_->str(), host.str());
}

bool HostPattern::overlaps(const HostPattern& other) const {
  if (kind_ == Kind::exact && is_host_service(*host_)) return spans_host_service(other);
  if (other.kind_ == Kind::exact && is_host_service(*other.host_)) return spans_host_service(*this);
  if (kind_ == Kind::exact) return other.matches(*host_);
  if (other.kind_ == Kind::exact) return matches(*other.host_);
  if (is_range() != other.is_range()) return false;
  if (is_range()) return range_->contains(*other.range_) || other.range_->contains(*range_);
  const std::string& mine = host_->str();
  const std::string& theirs = other.host_->str();
  return mine == theirs || is_below(mine, theirs) || is_below(theirs, mine);
}

std::string HostPattern::str() const {
  switch (kind_) {
    case Kind::exact: break;
    case Kind::below: return "*." + host_->str();
    case Kind::apex_and_below: return "**." + host_->str();
    case Kind::range: return range_->str();
  }
  return host_->str();
}

std::string HostPattern::key() const { return is_range() ? range_->key() : host_key(*host_); }

}  // namespace warder
