// trainer/display/units.cpp: formats durations, counts and sizes.
#include "trainer/display/units.h"

#include <fmt/format.h>

#include <cmath>

namespace weft {

std::string format_duration(double seconds) {
  if (!(seconds >= 0 && seconds < 1e12)) return "?";
  const int64_t s = std::llround(seconds);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m {:02d}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h {:02d}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d {:02d}h", s / 86400, s / 3600 % 24);
}

std::string format_count(double value) {
  if (value < 1000) return fmt::format("{:.0f}", value);
  if (value < 1e6) return fmt::format("{:.1f}k", value / 1e3);
  if (value < 1e9) return fmt::format("{:.2f}M", value / 1e6);
  return fmt::format("{:.2f}G", value / 1e9);
}

std::string format_perplexity(double nll) {
  const double perplexity = std::exp(nll);
  return perplexity < 1e6 ? fmt::format("{:.2f}", perplexity) : fmt::format("{:.2e}", perplexity);
}

std::string format_bytes(size_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double size = static_cast<double>(bytes) / 1024;
  const char* unit = "KiB";
  for (const char* larger : {"MiB", "GiB"})
    if (size >= 1024) size /= 1024, unit = larger;
  return fmt::format("{:.1f} {}", size, unit);
}

std::string with_commas(int64_t value) {
  std::string digits = std::to_string(value);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > (value < 0 ? 1 : 0); i -= 3)
    digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

}  // namespace weft
