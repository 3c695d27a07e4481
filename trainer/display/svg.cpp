// trainer/display/svg.cpp: writes the text of SVG files.
#include "trainer/display/svg.h"

#include <fmt/format.h>

#include <cmath>

#include "data/text/unicode.h"

namespace weft {

std::string svg_escaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const bool allowed = c.valid && (c.value >= 0x20 || c.value == '\t') && c.value != 0xFFFE && c.value != 0xFFFF;
    if (c.value == '&') {
      out += "&amp;";
    } else if (c.value == '<') {
      out += "&lt;";
    } else if (c.value == '>') {
      out += "&gt;";
    } else {
      append_utf8(out, allowed ? c.value : U'\uFFFD');
    }
    i += static_cast<size_t>(c.num_bytes);
  }
  return out;
}

std::string svg_text(double x, double y, const std::string& attributes, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, attributes, svg_escaped(text));
}

std::string svg_document(double width, double height, const std::string& title, const std::string& body) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"DejaVu Sans, Arial, sans-serif\" "
      "font-size=\"{2}\" fill=\"#1f2933\">\n<title>{3}</title>\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#ffffff\"/>\n{4}</svg>\n",
      std::ceil(width), std::ceil(height), kSvgFont, svg_escaped(title), body);
}

}  // namespace weft
