// tests/emulation/ptx/floats.cpp: PTX ISA, "Floating Point Instructions". Subnormal numbers are kept unless the
// instruction has .ftz.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/emulation/ptx/forms.h"

namespace weft::emulation::ptx {
namespace {

template <typename T>
T canonical_nan() {  // 0x7FFFFFFF, and for f64 0x7FF8000000000000
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(0x7FFFFFFFu);
  else
    return std::bit_cast<double>(uint64_t{0x7FF80000} << 32);
}

// A NaN loses against a number, and +0 is greater than -0.
template <typename T>
T greatest(T a, T b) {
  if (std::isnan(a)) return std::isnan(b) ? canonical_nan<T>() : b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <typename T>
T least(T a, T b) {
  if (std::isnan(a)) return std::isnan(b) ? canonical_nan<T>() : b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

// ex2.approx.ftz.f32 has a relative error of at most 2^-22, and none at 0: nearly the largest one, in a direction that
// differs from call to call.
float approximate_exp2(float x) {
  constexpr double kError = 0.7 * 0x1p-22;  // and a quarter of 2^-22 from rounding to float
  if (std::abs(x) < std::numeric_limits<float>::min()) return 1;
  const double error = (std::bit_cast<uint32_t>(x) & 1u) != 0 ? kError : -kError;
  const auto y = static_cast<float>(std::exp2(static_cast<double>(x)) * (1 + error));
  return y < std::numeric_limits<float>::min() ? 0.0f : y;
}

// rcp.approx.ftz.f64 uses only the upper 32 bits of its argument, and clears the lower 32 bits of its result.
double approximate_reciprocal(double x) {
  constexpr uint64_t kUpper = uint64_t{0xFFFFFFFF} << 32;
  const double upper = std::bit_cast<double>(std::bit_cast<uint64_t>(x) & kUpper);
  if (std::isnan(x)) return canonical_nan<double>();
  const double y = std::fpclassify(upper) == FP_SUBNORMAL ? std::copysign(HUGE_VAL, x) : 1 / upper;
  if (std::fpclassify(y) == FP_SUBNORMAL) return std::copysign(0.0, y);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(y) & kUpper);
}

}  // namespace

void add_floating_point(Table& table) {
  for_types<float, double>([&]<typename T>() {
    const std::string type = type_name<T>();
    for (const char* rounding : {".", ".rn."}) {
      table.lanes("add" + (rounding + type), [](T a, T b) { return a + b; });
      table.lanes("sub" + (rounding + type), [](T a, T b) { return a - b; });
      table.lanes("mul" + (rounding + type), [](T a, T b) { return a * b; });
    }
    table.lanes("fma.rn." + type, [](T a, T b, T c) { return std::fma(a, b, c); });
    table.lanes("div.rn." + type, [](T a, T b) { return a / b; });
    table.lanes("rcp.rn." + type, [](T a) { return 1 / a; });
    table.lanes("sqrt.rn." + type, [](T a) { return std::sqrt(a); });
    table.lanes("neg." + type, [](T a) { return -a; });
    table.lanes("abs." + type, [](T a) { return std::abs(a); });
    table.lanes("max." + type, [](T a, T b) { return greatest(a, b); });
    table.lanes("min." + type, [](T a, T b) { return least(a, b); });
  });
  table.lanes("ex2.approx.ftz.f32", [](float a) { return approximate_exp2(a); });
  table.lanes("rcp.approx.ftz.f64", [](double a) { return approximate_reciprocal(a); });
}

}  // namespace weft::emulation::ptx
