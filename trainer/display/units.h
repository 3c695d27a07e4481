// trainer/display/units.h: formats durations, counts and sizes for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft {

std::string format_duration(double seconds);  // 42s, 3m 05s, 2h 10m, 1d 04h
std::string format_count(double value);       // 512, 15.3k, 2.40M
std::string format_perplexity(double nll);    // 42.17, 1.93e+12
std::string format_bytes(size_t bytes);       // 512 bytes, 1.5 MiB
std::string with_commas(int64_t value);       // 1,234,567

}  // namespace weft
