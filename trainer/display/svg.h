// trainer/display/svg.h: writes the parts that all SVG 1.1 drawings share. Drawings are single files without scripts,
// fonts or links.
#pragma once

#include <string>

namespace weft {

inline constexpr double kSvgFont = 13;

std::string svg_escaped(const std::string& text);  // escapes & < >; U+FFFD replaces characters that XML 1.0 forbids

// Returns a <text> element at a point. REQUIRES: `attributes` is empty or starts with a space.
std::string svg_text(double x, double y, const std::string& attributes, const std::string& text);

// Returns a complete file of `width` x `height` pixels, with `body` on a white background.
std::string svg_document(double width, double height, const std::string& title, const std::string& body);

}  // namespace weft
