#include "audit/format.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>

#include "audit/json_text.hpp"

namespace warder::audit {
namespace {

// Limits in bytes of JSON text. tests/audit/format_test.cpp proves that they keep every record
// below kMaxRecordBytes and kMaxReceiptBytes.
constexpr std::size_t kWord = 64;
constexpr std::size_t kName = 128;
constexpr std::size_t kLongName = 320;  // an authority, a rule
constexpr std::size_t kPath = 4096;
constexpr std::size_t kArgument = 1024;
constexpr std::size_t kCommand = 4096;
constexpr std::size_t kSecretNames = 2048;
constexpr std::size_t kUses = 1024;
constexpr std::size_t kMasked = 512;
constexpr std::size_t kSwapped = 400;
constexpr std::size_t kChanges = 7168;

std::string begin(std::string_view type) { return "\"type\":\"" + std::string(type) + "\","; }

std::string body(const SessionStart& start) {
  std::string out = begin("session_start");
  Members(out)
      .text("session", start.session, kName)
      .text("policy", start.policy, kLongName)
      .text("policy_sha256", start.policy_sha256, kWord)
      .text("mode", start.mode, kWord)
      .texts("command", start.command, kArgument, kCommand)
      .texts("secrets", start.secrets, kName, kSecretNames)
      .text("previous", start.previous, kLongName)
      .number("uid", start.uid)
      .text("user", start.user, kWord)
      .text("host", start.host, kWord)
      .text("cwd", start.cwd, kLongName)
      .text("config_sha256", start.config_sha256, kWord)
      .text("profile", start.profile, kWord)
      .text("kernel", start.kernel, kWord);
  return out;
}

std::string body(const SessionEnd& end) {
  std::string out = begin("session_end");
  Members(out)
      .text("session", end.session, kName)
      .number("exit_code", end.exit_code)
      .number("exchanges", end.exchanges)
      .number("refused", end.refused)
      .text("ended", end.ended, kWord)
      .number("execs", end.execs)
      .number("missing_execs", end.missing_execs)
      .number("files", end.files);
  return out;
}

std::string body(const Exec& exec) {
  std::string out = begin("exec");
  Members(out)
      .text("session", exec.session, kName)
      .number("exec", exec.exec)
      .number("pid", exec.pid)
      .number("parent", exec.parent)
      .text("path", exec.path, kArgument)
      .text("cwd", exec.cwd, kArgument)
      .texts("argv", exec.argv, kArgument, kCommand)
      .number("left_out", exec.left_out)
      .number("count", exec.count)
      .text("note", exec.note, kWord)
      .text("told_by", exec.told_by, kWord);
  return out;
}

std::string body(const Exit& exit) {
  std::string out = begin("exit");
  Members(out)
      .text("session", exit.session, kName)
      .number("exec", exit.exec)
      .number("pid", exit.pid)
      .number("exit_code", exit.exit_code)
      .number("signal", exit.signal)
      .text("told_by", exit.told_by, kWord);
  return out;
}

std::string body(const FilesChanged& files) {
  std::string out = begin("files");
  Members(out)
      .text("session", files.session, kName)
      .objects("changes", files.changes, kChanges,
               [](Members& each, const FileChanged& change) {
                 each.text("name", change.path, kArgument).text("change", change.change, kWord);
               })
      .number("git_objects", files.git_objects)
      .number("more", files.more)
      .text("note", files.note, kWord)
      .text("told_by", files.told_by, kWord);
  return out;
}

std::string body(const DnsQuery& query) {
  std::string out = begin("dns");
  Members(out)
      .text("session", query.session, kName)
      .text("name", query.name, kLongName)
      .text("qtype", query.type, kWord)
      .text("answer", query.answer, kName)
      .text("reason", to_string(query.reason), kWord)
      .text("rule", query.rule, kLongName);
  return out;
}

std::string body(const Dial& dial) {
  std::string out = begin("dial");
  Members(out)
      .text("session", dial.session, kName)
      .text("ingress", dial.ingress, kWord)
      .text("authority", dial.authority, kLongName)
      .text("rule", dial.rule, kLongName)
      .text("where", dial.where, kLongName);
  return out;
}

std::string body(const SecretChange& change) {
  std::string out = begin("secret");
  Members(out)
      .text("session", change.session, kName)
      .text("secret", change.secret, kName)
      .number("version", change.version)
      .text("change", change.change, kWord);
  return out;
}

std::string body(const PolicyChange& change) {
  std::string out = begin("policy");
  Members(out)
      .text("session", change.session, kName)
      .text("policy", change.policy, kLongName)
      .text("policy_sha256", change.policy_sha256, kWord)
      .text("change", change.change, kWord)
      .text("by", change.by, kName)
      .text("detail", change.detail, kArgument);
  return out;
}

std::string body(const Approval& approval) {
  std::string out = begin("approval");
  Members(out)
      .text("session", approval.session, kName)
      .text("id", approval.id, kWord)
      .text("decision", approval.decision, kWord)
      .text("scope", approval.scope, kWord)
      .text("until", approval.until, kWord)
      .text("rule", approval.rule, kLongName)
      .text("where", approval.where, kLongName)
      .text("method", approval.method, kWord)
      .text("authority", approval.authority, kLongName)
      .text("path", approval.path, kPath)
      .text("fields_sha256", approval.fields_sha256, kWord)
      .text("body_sha256", approval.body_sha256, kWord)
      .number("count", approval.count)
      .text("how", approval.how, kWord)
      .number("uid", approval.uid)
      .number("pid", approval.pid)
      .text("user", approval.user, kName);
  return out;
}

std::string body(const BoundState& bound) {
  std::string out = begin("limit");
  Members(out)
      .text("session", bound.session, kName)
      .text("name", bound.name, kWord)
      .text("value", bound.value, kWord)
      .text("mechanism", bound.mechanism, kWord)
      .text("state", bound.state, kWord)
      .number("used", bound.used);
  return out;
}

std::string body(const Intent& intent) {
  std::string out = begin("intent");
  Members members(out);
  members.text("session", intent.session, kName)
      .number("exchange", intent.exchange)
      .text("ingress", intent.ingress, kWord)
      .text("protocol", intent.protocol, kWord)
      .text("method", intent.method, kWord)
      .text("authority", intent.authority, kLongName)
      .text("path", intent.path, kPath)
      .text("decision", intent.decision, kWord)
      .text("reason", to_string(intent.reason), kWord)
      .text("rule", intent.rule, kLongName)
      .text("where", intent.where, kLongName)
      .objects("uses", intent.uses, kUses, [](Members& each, const SecretUsed& use) {
        each.text("name", use.name, kName)
            .number("version", use.version)
            .text("place", use.place, kName);
      });
  if (intent.approval_seq != 0) members.number("approval_seq", intent.approval_seq);
  return out;
}

std::string body(const Receipt& receipt) {
  std::string out = begin("receipt");
  Members(out)
      .text("session", receipt.session, kName)
      .number("exchange", receipt.exchange)
      .number("intent_seq", receipt.intent_seq)
      .text("upstream", receipt.upstream, kName)
      .text("tls", receipt.tls, kName)
      .text("leaf_sha256", receipt.leaf_sha256, kWord)
      .number("status", receipt.status)
      .number("bytes_up", receipt.bytes_up)
      .number("bytes_down", receipt.bytes_down)
      .objects("masked", receipt.masked, kMasked,
               [](Members& members, const SecretMasked& masked) {
                 members.text("name", masked.name, kName)
                     .text("place", masked.place, kName)
                     .text("encoding", masked.encoding, kWord)
                     .number("count", masked.count);
               })
      .objects("swapped", receipt.swapped, kSwapped,
               [](Members& members, const SecretSwapped& swapped) {
                 members.text("name", swapped.name, kName)
                     .text("place", swapped.place, kName)
                     .number("count", swapped.count);
               })
      .text("reason", to_string(receipt.reason), kWord)
      .text("side", receipt.side, kWord)
      .number("connect_us", receipt.connect.count())
      .number("first_byte_us", receipt.first_byte.count())
      .number("total_us", receipt.total.count());
  return out;
}

}  // namespace

std::string body_of(const Record& record) {
  return std::visit([](const auto& kind) { return body(kind); }, record);
}

std::string body_of(const LogHeader& header) {
  std::string out = begin("log");
  Members(out)
      .text("origin", header.origin, kLongName)
      .text("gateway", header.gateway, kName)
      .text("software", "warder " WARDER_VERSION, kWord)
      .number("first_seq", 0)
      .number("tree_size", 0)
      .text("key", header.key, kLongName)
      .text("previous", header.previous, 2 * kLongName);
  return out;
}

std::string body_of(const Resume& resume) {
  std::string out = begin("resume");
  Members(out).text("gateway", resume.gateway, kName).flag("clean", resume.clean);
  return out;
}

std::string body_of(const Repair& repair) {
  std::string out = begin("repair");
  Members(out)
      .text("file", repair.file, kLongName)
      .number("torn_bytes", repair.size)
      .text("torn_sha256", repair.sha256, kWord);
  return out;
}

std::string close_body() { return "\"type\":\"close\""; }

std::string checkpoint_body(std::string_view note) {
  std::string out = begin("checkpoint");
  Members(out).text("note", note, kArgument);
  return out;
}

std::string Chain::line(std::string_view body, const Stamp& stamp) const {
  std::string out = "{\"v\":" + std::to_string(kFormatVersion);
  out += ",\"seq\":" + std::to_string(size());
  out += ",\"time\":\"" + stamp.time + "\",\"mono_ns\":" + std::to_string(stamp.mono_ns);
  out += ',';
  out += body;
  out += ",\"prev\":\"";
  if (last_) out += to_base64(*last_);
  out += "\"}";
  return out;
}

void Chain::add(std::string_view body, const Stamp& stamp, std::string& out) {
  const std::string text = line(body, stamp);
  follow(text, stamp);
  out += text;
  out += '\n';
}

void Chain::add_checkpoint(const SigningKey& key, std::string_view origin, std::string& out) {
  const Checkpoint checkpoint{std::string(origin), size(), tree_.root()};
  add(checkpoint_body(key.sign(checkpoint)), Stamp(stamp_), out);
}

void Chain::follow(std::string_view line, Stamp stamp) {
  last_ = leaf_hash(line);
  tree_.append(*last_);
  stamp_ = std::move(stamp);
}

std::optional<ParsedLine> ParsedLine::parse(std::string_view line) {
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(line, error);
  if (error || !value.is_object()) return std::nullopt;
  ParsedLine parsed;
  parsed.members = std::move(value.get_object());
  const auto seq = parsed.number("seq");
  const auto mono = parsed.number("mono_ns");
  if (parsed.number("v") != std::uint64_t{kFormatVersion} || !seq || !mono) return std::nullopt;
  parsed.seq = *seq;
  parsed.stamp = {parsed.text("time"), *mono};
  parsed.type = parsed.text("type");
  const boost::json::value* prev = parsed.members.if_contains("prev");
  if (parsed.stamp.time.empty() || parsed.type.empty() || prev == nullptr || !prev->is_string()) {
    return std::nullopt;
  }
  if (prev->get_string().empty()) return parsed;
  parsed.prev = digest_from_base64(prev->get_string());
  if (!parsed.prev) return std::nullopt;
  return parsed;
}

std::string ParsedLine::text(std::string_view key) const {
  const boost::json::value* value = members.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::optional<std::uint64_t> ParsedLine::number(std::string_view key) const {
  const boost::json::value* value = members.if_contains(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_uint64()) return value->get_uint64();
  if (value->is_int64() && value->get_int64() >= 0) {
    return static_cast<std::uint64_t>(value->get_int64());
  }
  return std::nullopt;
}

}  // namespace warder::audit
