// tests/emulation/ptx/conversions.cpp: PTX ISA, "Data Movement and Conversion Instructions: cvt".
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/emulation/ptx/forms.h"

namespace weft::emulation::ptx {
namespace {

// Out of range, the result is the nearest integer; of NaN, it is 0 (and the least value in 64 bits).
template <typename To, typename From>
To clamped(From rounded) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(rounded)) return sizeof(To) == 8 ? static_cast<To>(uint64_t{1} << 63) : To{0};
  if (rounded >= std::ldexp(From{1}, Limits::digits)) return Limits::max();
  if (rounded <= static_cast<From>(Limits::min())) return Limits::min();
  return static_cast<To>(rounded);
}

uint16_t to_bf16(float x) {  // to nearest even
  if (std::isnan(x)) return 0x7FFF;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

uint16_t to_f16(float x) {
  return std::isnan(x) ? uint16_t{0x7FFF} : std::bit_cast<uint16_t>(static_cast<_Float16>(x));
}

void add_between_integers(Table& table) {
  for_types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>([&]<typename From>() {
    for_types<int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t>([&]<typename To>() {
      using Register = std::conditional_t<sizeof(From) == 1, uint16_t, From>;  // no register has 8 bits
      table.narrowing_lanes("cvt." + type_name<To>() + "." + type_name<From>(),
                            [](Register a) { return static_cast<To>(static_cast<From>(a)); });
    });
  });
}

void add_between_integers_and_floats(Table& table) {
  for_types<int32_t, int64_t, uint32_t, uint64_t>([&]<typename Integer>() {
    for_types<float, double>([&]<typename Float>() {
      const std::string types = type_name<Integer>() + "." + type_name<Float>();
      table.lanes("cvt.rzi." + types, [](Float a) { return clamped<Integer>(std::trunc(a)); });
      table.lanes("cvt.rni." + types, [](Float a) { return clamped<Integer>(std::nearbyint(a)); });
      table.lanes("cvt.rn." + type_name<Float>() + "." + type_name<Integer>(),
                  [](Integer a) { return static_cast<Float>(a); });
    });
  });
}

}  // namespace

void add_conversions(Table& table) {
  add_between_integers(table);
  add_between_integers_and_floats(table);
  table.lanes("cvt.f64.f32", [](float a) { return static_cast<double>(a); });
  table.lanes("cvt.rn.f32.f64", [](double a) { return static_cast<float>(a); });
  // The first operand becomes the upper half.
  table.lanes("cvt.rn.bf16x2.f32", [](float a, float b) { return uint32_t{to_bf16(a)} << 16 | to_bf16(b); });
  table.lanes("cvt.rn.f16x2.f32", [](float a, float b) { return uint32_t{to_f16(a)} << 16 | to_f16(b); });
}

}  // namespace weft::emulation::ptx
