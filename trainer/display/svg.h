// trainer/display/svg.h: shared parts of SVG 1.1 drawings: one file without scripts, fonts or links.
#pragma once

#include <string>

namespace weft {

inline constexpr double kSvgFont = 13;

std::string svg_escaped(
    const std::string& text);  // for an element's text; characters that XML 1.0 forbids become U+FFFD

// Returns a <text> element at a point. REQUIRES: `attributes` is empty or starts with a space.
std::string svg_text(double x, double y, const std::string& attributes, const std::string& text);

// Returns the complete file with `body` on white, `width` x `height` pixels.
std::string svg_document(double width, double height, const std::string& title, const std::string& body);

}  // namespace weft
