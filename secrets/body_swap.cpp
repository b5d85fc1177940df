#include "secrets/body_swap.hpp"

#include <algorithm>
#include <utility>

#include "http/chars.hpp"
#include "secrets/form_places.hpp"
#include "secrets/json_places.hpp"

namespace warder {
namespace {

using Format = BodyPlan::Format;
using Kind = Place::Kind;

Escapes escapes_of(Format format) {
  if (format == Format::json) return Escapes::json;
  return format == Format::form ? Escapes::percent : Escapes::none;
}

void append(WipedBytes& out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}

bool names(const BodyPlace* entry, std::uint32_t credential) {
  return entry != nullptr && std::find(entry->credentials.begin(), entry->credentials.end(),
                                       credential) != entry->credentials.end();
}

}  // namespace

BodySwap::BodySwap(const SessionSecrets& secrets, const BodyPlan& plan)
    : secrets_(secrets),
      plan_(plan),
      foreign_(secrets.foreign()),
      escapes_(escapes_of(plan.format)),
      left_(plan.left),
      own_(secrets.placeholders()) {
  std::vector<std::string> keys;
  std::vector<std::vector<std::string>> pointers;
  for (const BodyPlace& entry : plan.places) {
    if (entry.place.kind == Kind::body || entry.place.kind == Kind::ws) {
      anywhere_ = &entry;
      continue;
    }
    values_.push_back(&entry);
    if (entry.place.kind == Kind::body_form) keys.push_back(entry.place.name);
    if (entry.place.kind == Kind::body_json)
      pointers.push_back(parse_json_pointer(entry.place.name).value());
  }
  if (!keys.empty()) finder_ = std::make_unique<FormPlaces>(std::move(keys));
  if (!pointers.empty()) finder_ = std::make_unique<JsonPlaces>(std::move(pointers));
  if (plan.format == Format::grpc) frames_.emplace();
  restart();
  // Where text has escapes, what leaves as it came is also searched as it is spelt.
  if (escapes_ != Escapes::none) wire_.emplace(secrets_);
}

bool BodySwap::feed(std::string_view in, WipedBytes& out) {
  if (refusal_) return false;
  if (frames_) return feed_frames(in, out);
  if (!finder_) return scan(in, Input::more, nullptr, out);
  while (!in.empty()) {
    const PlaceRun run = finder_->next(in);
    const std::string_view front = in.substr(0, run.size);
    in.remove_prefix(run.size);
    if (run.place == PlaceRun::kOutside) {
      if (!scan(front, Input::more, nullptr, out)) return false;
      continue;
    }
    // Nothing reaches from before a value into it.
    if (!value_of_ && !scan({}, Input::last, nullptr, out)) return false;
    value_of_ = run;
    if (value_.size() + front.size() > kMaxValue) {
      return refuse(Reason::body_unswappable, kNobody, values_[run.place]->place.str(),
                    "the value there is longer than 64 KiB: no secret is");
    }
    value_ += front;
    if (run.ends && !end_value(out)) return false;
  }
  return true;
}

bool BodySwap::finish(WipedBytes& out) {
  if (refusal_) return false;
  if (value_of_) {
    value_of_->is_whole = plan_.format == Format::form;  // a string that never ended is none
    if (!end_value(out)) return false;
  }
  if (!scan({}, Input::last, nullptr, out)) return false;
  if (!wire_) return true;
  std::string scratch;
  append(out, wire_->finish(scratch));
  return !sprung();
}

bool BodySwap::feed_frames(std::string_view in, WipedBytes& out) {
  while (!in.empty()) {
    const GrpcMessages::Run run = frames_->next(in);
    may_swap_ = run.part == GrpcMessages::Part::message;
    if (!scan(in.substr(0, run.size), Input::more, nullptr, out)) return false;
    if (run.ends && !scan({}, Input::last, nullptr, out)) return false;
    in.remove_prefix(run.size);
  }
  return true;
}

bool BodySwap::end_value(WipedBytes& out) {
  const PlaceRun run = *std::exchange(value_of_, std::nullopt);
  const std::string value = std::exchange(value_, {});
  const BodyPlace& entry = *values_[run.place];
  if (!run.is_whole) return scan(value, Input::last, nullptr, out);
  const Unescaped text = unescape(value, escapes_);
  const bool holds_one = first_in(as_view(text.plain), StreamScanner::Input::last).has_value();
  restart();
  if (holds_one) return scan(value, Input::last, &entry, out);
  return pass_credential(entry, run, value, out);
}

// A value at a granted place that holds no placeholder: the sandbox's own.
bool BodySwap::pass_credential(const BodyPlace& entry, const PlaceRun& run, std::string_view value,
                               WipedBytes& out) {
  const bool is_word = !run.is_quoted && !is_digit(value.front()) && value.front() != '-';
  if (value.empty() || is_word) return put_source(value, out);
  const std::string place = entry.place.str();
  if (entry.foreign == Grant::Foreign::refuse) {
    return refuse(Reason::foreign_credential, kNobody, place,
                  "leave it out or send the placeholder from the environment in it");
  }
  if (entry.foreign == Grant::Foreign::pass) {
    count("foreign:passed", 0, place);
    return put_source(value, out);
  }
  count("foreign:stripped", 0, place);
  if (!run.is_quoted) append(out, "null");
  return true;
}

// `entry`: the place whose whole value `in` is.
bool BodySwap::scan(std::string_view in, Input input, const BodyPlace* entry, WipedBytes& out) {
  std::string joined;
  if (!pending_.empty()) {
    joined = std::exchange(pending_, {});
    joined += in;
    in = joined;
  }
  for (;;) {
    const bool last = input == Input::last;
    const std::size_t whole = in.size() - (last ? 0 : cut_escape(in, escapes_));
    const Unescaped text = unescape(in.substr(0, whole), escapes_);
    const std::string_view plain = as_view(text.plain);
    const auto found =
        first_in(plain, last ? StreamScanner::Input::last : StreamScanner::Input::more);
    if (!found) {
      std::size_t settled = own_.settled();
      if (others_) settled = std::min(settled, others_->settled());
      // What one escape spells stays together.
      while (settled > 0 && settled < plain.size() &&
             text.begin_of(settled) == text.begin_of(settled - 1))
        --settled;
      own_.drop(settled);
      if (others_) others_->drop(settled);
      const std::size_t leaves = text.begin_of(settled);
      if (!put_source(in.substr(0, leaves), out)) return false;
      pending_.assign(in.substr(leaves));
      if (last) restart();
      return true;
    }
    std::size_t end = found->end;
    while (end < plain.size() && text.begin_of(end) == text.begin_of(end - 1)) ++end;
    const std::size_t from = text.begin_of(found->begin);
    const std::size_t to = text.begin_of(end);
    if (!put_source(in.substr(0, from), out) || !put_value(*found, to - from, entry, out))
      return false;
    in.remove_prefix(to);
    restart();
  }
}

std::optional<BodySwap::Found> BodySwap::first_in(std::string_view plain,
                                                  StreamScanner::Input input) {
  const auto own = own_.next(plain, input);
  std::optional<Matcher::Hit> other;
  if (others_) {
    do other = others_->next(plain, input);
    while (other && foreign_.is_own(other->pattern));
  }
  if (own && (!other || own->begin <= other->begin))
    return Found{own->begin, own->end, own->pattern};
  if (other) return Found{other->begin, other->end, kNobody};
  return std::nullopt;
}

bool BodySwap::put_value(const Found& found, std::size_t spelt, const BodyPlace* entry,
                         WipedBytes& out) {
  const std::uint32_t who = found.credential;
  const std::string place =
      plan_.format == Format::ws_text || plan_.format == Format::ws_binary ? "ws" : "body";
  if (who == kNobody) {
    return refuse(Reason::placeholder_foreign, kNobody, place,
                  "use the placeholder that this sandbox's own environment holds");
  }
  const Credential& credential = secrets_.credentials()[who];
  if (credential.is_revoked) {
    return refuse(Reason::secret_revoked, who, place,
                  "ask for a new one: this one is not coming back");
  }
  const BodyPlace* const at = names(entry, who) ? entry : anywhere_;
  if (!may_swap_ || !names(at, who)) {
    return refuse(Reason::placeholder_wrong_place, who, place,
                  "send it where the grant of secret " + credential.name + " says");
  }
  if (left_[who] == 0) {
    return refuse(Reason::placeholder_wrong_place, who, place,
                  "a request may hold the placeholder of a secret in one place, once, unless its "
                  "grant says max: N");
  }
  if (!credential.value) {
    return refuse(Reason::secret_unavailable, who, place,
                  "see `warder check`: the secret's source gives no value");
  }
  return credential.value->reveal([&](std::string_view value) {
    const std::size_t size = escaped_size(value, escapes_);
    if (plan_.format == Format::grpc && size != spelt) {
      return refuse(Reason::body_unswappable, who, place,
                    "its value and its placeholder have not the same length, and the lengths "
                    "within a gRPC message cannot be put right");
    }
    if (plan_.keeps_length && size != spelt) {
      return refuse(Reason::body_unswappable, who, place,
                    "write the placeholder without escapes: the body's length was already said");
    }
    if (plan_.format == Format::ws_text && value.find_first_of("\"\\") != std::string_view::npos) {
      return refuse(Reason::body_unswappable, who, place,
                    "its value has a quote or a backslash, which would break JSON in a text "
                    "message: send it in a binary message");
    }
    if (wire_) {
      std::string scratch;
      append(out, wire_->finish(scratch));
      wire_.emplace(secrets_);
    }
    append_escaped(out, value, escapes_);
    --left_[who];
    count(credential.name, credential.version, at->place.str());
    return true;
  });
}

bool BodySwap::put_source(std::string_view text, WipedBytes& out) {
  if (!wire_) {
    append(out, text);
    return true;
  }
  std::string scratch;
  append(out, wire_->feed(text, scratch));
  return !sprung();
}

bool BodySwap::sprung() {
  if (!wire_->hit()) return false;
  refusal_ = SwapRefusal{wire_->reason(), wire_->secret(), "body",
                         "send it where the grant of its secret says"};
  return true;
}

void BodySwap::restart() {
  own_ = StreamScanner(secrets_.placeholders());
  if (foreign_.placeholders) others_.emplace(*foreign_.placeholders);
}

bool BodySwap::refuse(Reason reason, std::uint32_t credential, std::string place, std::string why) {
  std::string name = credential == kNobody ? "" : secrets_.credentials()[credential].name;
  refusal_ = SwapRefusal{reason, std::move(name), std::move(place), std::move(why)};
  return false;
}

void BodySwap::count(const std::string& name, unsigned version, const std::string& place) {
  const auto known = std::find_if(counts_.begin(), counts_.end(), [&](const Count& each) {
    return each.name == name && each.place == place;
  });
  if (known != counts_.end())
    ++known->count;
  else
    counts_.push_back({name, version, place, 1});
}

}  // namespace warder
