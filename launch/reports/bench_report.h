// launch/reports/bench_report.h: formats the results of `weft bench` as text or as JSON (docs/hardware/bench.md).
#pragma once

#include <string>

#include "trainer/bench/bench.h"

namespace weft {

inline constexpr double kGiga = 1e9;  // the unit in both reports

std::string bench_text(const BenchReport& report);
std::string bench_json(const BenchReport& report);

}  // namespace weft
