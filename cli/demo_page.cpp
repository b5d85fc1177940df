#include "cli/demo_page.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cli/demo_script.hpp"
#include "cli/demo_text.hpp"
#include "http/message.hpp"

namespace warder {
namespace {

constexpr std::size_t kMaxWidth = 120;
constexpr std::size_t kMinWidth = 44;
constexpr std::size_t kMaxLines = 14;  // of one side
constexpr std::size_t kShown = 12;     // of a placeholder, so that it fits a column

struct Paint {
  static constexpr std::string_view bold = "\033[1m";
  static constexpr std::string_view dim = "\033[2m";
  static constexpr std::string_view red = "\033[1;31m";
  static constexpr std::string_view green = "\033[32m";
  static constexpr std::string_view yellow = "\033[33m";
  static constexpr std::string_view cyan = "\033[36m";
};

struct Line {
  std::string text;
  bool is_command = false;
};

struct Side {
  std::string title;
  std::vector<Line> lines;
};

bool is_telling_header(std::string_view line) {
  static constexpr std::array<std::string_view, 2> kTelling{"warder-reason", "x-rejected-token"};
  const std::string_view name = line.substr(0, line.find(':'));
  return line.starts_with("HTTP/") ||
         std::any_of(kTelling.begin(), kTelling.end(),
                     [&](std::string_view telling) { return same_name(name, telling); });
}

// What was printed in a sandbox is never given to the terminal as it is: ASCII, and our own mark.
std::string plain(std::string_view text) {
  static constexpr std::string_view kMark = "…";
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with(kMark)) {
      out += kMark;
      at += kMark.size() - 1;
    } else {
      out += text[at] >= 0x20 && text[at] < 0x7f ? text[at] : '?';
    }
  }
  return out;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(plain(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The placeholder's variable, the names of the others, and how many of them say which authorities to trust.
std::vector<std::string> telling_variables(const std::vector<std::string>& environment) {
  std::vector<std::string> shown;
  std::vector<std::string> names;
  std::size_t trust = 0;
  for (const std::string& entry : environment) {
    const std::string name = entry.substr(0, entry.find('='));
    if (name == kDemoVariable)
      shown.push_back(entry);
    else if (entry.find("=/etc/ssl/certs/") != std::string::npos)
      ++trust;
    else
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::string rest = "and:";
  for (const std::string& name : names) rest += " " + name;
  shown.push_back(rest);
  shown.push_back("and " + std::to_string(trust) + " that name the bundle of authorities to trust");
  return shown;
}

// An answer as `curl -i` printed it, without the fields that tell nothing here.
std::vector<std::string> telling_lines(const std::vector<std::string>& answer) {
  std::vector<std::string> shown;
  bool in_head = !answer.empty() && answer.front().starts_with("HTTP/");
  for (const std::string& line : answer) {
    if (line.empty()) in_head = false;
    if (!in_head || is_telling_header(line)) shown.push_back(line);
  }
  return shown;
}

class Page {
 public:
  Page(const DemoReport& report, PageStyle style)
      : report_(report),
        colours_(style.colours),
        width_(std::clamp(style.width, kMinWidth, kMaxWidth)) {
    shown_placeholder_ = report.placeholder.substr(0, kShown) + "…";
  }

  std::string text() {
    title();
    for (std::size_t i = 0; i < report_.steps.size(); ++i) step(i + 1, report_.steps[i]);
    refusals();
    closing();
    return std::move(out_);
  }

 private:
  std::string paint(std::string_view colour, std::string_view text) const {
    if (colours_ == Colours::no) return std::string(text);
    return std::string(colour) + std::string(text) + "\033[0m";
  }

  void line(std::string_view text = {}) {
    out_ += text;
    out_ += '\n';
  }

  void title() {
    const std::size_t room = width_ - 4;
    line(paint(Paint::cyan, "╭" + repeated("─", width_ - 2) + "╮"));
    const std::string edge = paint(Paint::cyan, "│");
    for (const std::string& text :
         wrapped("warder demo: a sandboxed curl uses a token that it cannot read", room, 0)) {
      line(edge + " " + paint(Paint::bold, padded(text, room)) + " " + edge);
    }
    line(paint(Paint::cyan, "╰" + repeated("─", width_ - 2) + "╯"));
    const std::string legend =
        "in the sandbox: the placeholder " + paint(Paint::green, shown_placeholder_);
    line("  " + legend);
    line("  at the origin:  the real token  " + paint(Paint::yellow, report_.shortened));
  }

  std::string short_placeholder(std::string text) const {
    const std::string& whole = report_.placeholder;
    if (whole.empty()) return text;
    for (std::size_t at = 0; (at = text.find(whole, at)) != std::string::npos;
         at += shown_placeholder_.size()) {
      text.replace(at, whole.size(), shown_placeholder_);
    }
    return text;
  }

  Side left_of(const DemoStep& step) const {
    Side side{step.left_title, {}};
    const char* prompt = "$ ";
    for (const std::string& text : lines_of(step.command)) {
      side.lines.push_back({prompt + text, true});
      prompt = "  ";
    }
    const auto printed = lines_of(step.output);
    const auto shown =
        step.name == "environment" ? telling_variables(printed) : telling_lines(printed);
    for (const std::string& text : shown) side.lines.push_back({short_placeholder(text)});
    return side;
  }

  Side right_of(const DemoStep& step) const {
    Side side{step.right_title, {}};
    for (const std::string& text : lines_of(step.origin)) side.lines.push_back({text});
    return side;
  }

  static std::vector<Line> fitted(const Side& side, std::size_t width) {
    std::vector<Line> lines;
    for (const Line& whole : side.lines) {
      for (std::string& part : wrapped(whole.text, width, 2))
        lines.push_back({std::move(part), whole.is_command});
    }
    while (!lines.empty() && lines.back().text.empty()) lines.pop_back();
    if (lines.size() > kMaxLines) {
      lines.resize(kMaxLines - 1);
      lines.push_back({"…"});
    }
    return lines;
  }

  std::string cell(const std::vector<Line>& lines, std::size_t at, std::size_t width) const {
    if (at >= lines.size()) return std::string(width, ' ');
    std::string text = padded(lines[at].text, width);
    if (colours_ == Colours::no) return text;
    if (lines[at].is_command) return paint(Paint::bold, text);
    text = coloured(std::move(text), shown_placeholder_, Paint::green);
    return coloured(std::move(text), report_.shortened, Paint::yellow);
  }

  std::string coloured(std::string text, const std::string& part, std::string_view colour) const {
    const std::string with = paint(colour, part);
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += with.size()) {
      text.replace(at, part.size(), with);
    }
    return text;
  }

  // "─ title ───" over a column of `width`.
  static std::string heading(const std::string& title, std::size_t width) {
    return "─ " + title + " " + repeated("─", width - columns_of(title) - 1);
  }

  void side_by_side(const Side& left, const Side& right) {
    const std::size_t left_width = (width_ - 7) / 2;
    const std::size_t right_width = width_ - 7 - left_width;
    const auto left_lines = fitted(left, left_width);
    const auto right_lines = fitted(right, right_width);
    const std::string edge = paint(Paint::dim, "│");
    line(paint(Paint::dim, "┌" + heading(left.title, left_width) + "┬" +
                               heading(right.title, right_width) + "┐"));
    for (std::size_t i = 0; i < std::max(left_lines.size(), right_lines.size()); ++i) {
      line(edge + " " + cell(left_lines, i, left_width) + " " + edge + " " +
           cell(right_lines, i, right_width) + " " + edge);
    }
    line(paint(Paint::dim,
               "└" + repeated("─", left_width + 2) + "┴" + repeated("─", right_width + 2) + "┘"));
  }

  void stacked(const Side& left, const Side& right) {
    const std::size_t room = width_ - 4;
    const std::string edge = paint(Paint::dim, "│");
    const auto block = [&](const Side& side, const char* from, const char* to) {
      line(paint(Paint::dim, from + heading(side.title, room) + to));
      const auto lines = fitted(side, room);
      for (std::size_t i = 0; i < lines.size(); ++i)
        line(edge + " " + cell(lines, i, room) + " " + edge);
    };
    block(left, "┌", "┐");
    block(right, "├", "┤");
    line(paint(Paint::dim, "└" + repeated("─", room + 2) + "┘"));
  }

  void step(std::size_t number, const DemoStep& step) {
    line();
    line(paint(Paint::bold, std::to_string(number) + "  " + step.title));
    const Side left = left_of(step);
    const Side right = right_of(step);
    if (width_ >= PageStyle::kSideBySide)
      side_by_side(left, right);
    else
      stacked(left, right);
    for (const DemoCheck& check : step.checks) {
      const auto lines = wrapped(check.claim, width_ - 4, 0);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string mark = i > 0        ? " "
                                 : check.held ? paint(Paint::green, "✓")
                                              : paint(Paint::red, "✗");
        line("  " + mark + " " + (check.held ? lines[i] : paint(Paint::red, lines[i])));
      }
    }
  }

  void indented(std::string_view text, std::size_t indent, std::string_view colour = {}) {
    for (const std::string& part : wrapped(text, width_ - indent, 2)) {
      line(std::string(indent, ' ') + (colour.empty() ? part : paint(colour, part)));
    }
  }

  void refusals() {
    line();
    line(paint(Paint::bold, "Refused in this run"));
    for (const Denial& denial : report_.outcome.denials) {
      const std::string times =
          denial.count > 1 ? " (" + std::to_string(denial.count) + " times)" : "";
      indented(plain(denial.what) + ": " + std::string(to_string(denial.reason)) + times, 2);
      if (!denial.suggestion.empty())
        indented("to allow it: " + plain(denial.suggestion), 6, Paint::cyan);
    }
    line();
    line(paint(Paint::bold, "Audit record"));
    line("  " + plain(report_.outcome.audit_file.string()));
  }

  void closing() {
    line();
    line(paint(Paint::bold, "Try next"));
    const auto next = [this](const char* command, const char* what) {
      const std::string text = padded(command, 66);
      line("  " + paint(Paint::cyan, width_ >= 100 ? text : command) + (width_ >= 100 ? what : ""));
    };
    next("warder run --allow example.com -- curl https://example.com", "one host, nothing else");
    next("warder run --secret GITHUB_TOKEN@api.github.com -- gh api user",
         "your own token, unread");
    next("warder init && warder trust", "a policy file for a project");
    line();
    const auto failed = std::count_if(report_.steps.begin(), report_.steps.end(),
                                      [](const DemoStep& step) { return !step.ok(); });
    if (report_.ok()) {
      line(paint(Paint::green, "✓ All " + std::to_string(report_.steps.size()) +
                                   " steps held: the token was used, and never seen."));
    } else {
      line(paint(Paint::red, "✗ " + std::to_string(failed) + " of " +
                                 std::to_string(report_.steps.size()) +
                                 " steps did not hold: see the ✗ above."));
    }
  }

  const DemoReport& report_;
  Colours colours_;
  std::size_t width_;
  std::string shown_placeholder_;
  std::string out_;
};

}  // namespace

PageStyle style_of_stdout() {
  PageStyle style;
  if (::isatty(STDOUT_FILENO) == 0) return style;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.width = size.ws_col;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  if ((no_colour == nullptr || *no_colour == '\0') && !is_dumb) style.colours = Colours::yes;
  return style;
}

std::string demo_page(const DemoReport& report, PageStyle style) {
  return Page(report, style).text();
}

}  // namespace warder
