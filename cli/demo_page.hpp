// The demo's report for a person: a page for a terminal, side by side where it is wide enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cli/demo_report.hpp"

namespace warder {

enum class Colours : std::uint8_t { no, yes };

struct PageStyle {
  std::size_t width = 100;  // columns; below kSideBySide the two sides stand below each other
  Colours colours = Colours::no;

  static constexpr std::size_t kSideBySide = 90;
};

// The width of the terminal that stdout is; colours only there, and only without NO_COLOR.
PageStyle style_of_stdout();

std::string demo_page(const DemoReport& report, PageStyle style);

// One JSON document and a line break.
std::string demo_json(const DemoReport& report);

}  // namespace warder
