#include "http/h1_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "http/chars.hpp"

namespace warder {
namespace {

// The last line of defence: fields may come from HTTP/2 or hold a swapped value by now.
bool is_writable(const HeaderList& fields) {
  return std::all_of(fields.begin(), fields.end(), [](const HeaderField& field) {
    return !field.name.empty() && all_in(kTokenChar, field.name) && all_in(kFieldChar, field.value);
  });
}

void append_fields(std::string& out, const HeaderList& fields) {
  for (const HeaderField& field : fields) {
    out.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  out.append("\r\n");
}

std::size_t size_of(const HeaderList& fields) {
  std::size_t size = 2;
  for (const HeaderField& field : fields) size += field.name.size() + field.value.size() + 4;
  return size;
}

void reserve_more(std::string& out, std::size_t more) {
  if (out.capacity() - out.size() < more) out.reserve(std::max(out.size() + more, out.size() * 2));
}

}  // namespace

bool write_head(std::string& out, const RequestHead& head) {
  if (head.method.empty() || !all_in(kTokenChar, head.method)) return false;
  if (head.target.empty() || !all_in(kVisible, head.target)) return false;
  if (!is_writable(head.fields)) return false;
  reserve_more(out, head.method.size() + head.target.size() + 12 + size_of(head.fields));
  out.append(head.method).append(" ").append(head.target).append(" HTTP/1.1\r\n");
  append_fields(out, head.fields);
  return true;
}

bool write_head(std::string& out, const ResponseHead& head) {
  if (head.status < 100 || head.status > 999) return false;
  if (!all_in(kFieldChar, head.phrase) || !is_writable(head.fields)) return false;
  reserve_more(out, head.phrase.size() + 15 + size_of(head.fields));
  out.append("HTTP/1.1 ").append(std::to_string(head.status)).append(" ").append(head.phrase);
  out.append("\r\n");
  append_fields(out, head.fields);
  return true;
}

void write_chunk(std::string& out, std::string_view data) {
  if (data.empty()) return;
  std::array<char, 16> size{};
  const auto end = std::to_chars(size.begin(), size.end(), data.size(), 16).ptr;
  out.append(size.data(), end).append("\r\n").append(data).append("\r\n");
}

bool write_last_chunk(std::string& out, const HeaderList& trailers) {
  if (!is_writable(trailers)) return false;
  out.append("0\r\n");
  append_fields(out, trailers);
  return true;
}

}  // namespace warder
