// tests/emulation/ptx/logic.cpp: PTX ISA, "Comparison and Selection Instructions", "Logic and Shift Instructions".
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tests/emulation/ptx/forms.h"

namespace weft::emulation::ptx {
namespace {

template <typename T>
void add_equality(Table& table, const std::string& type) {
  table.lanes("setp.eq." + type, [](T a, T b) { return a == b; });
  table.lanes("setp.ne." + type, [](T a, T b) { return a != b && !(a != a) && !(b != b); });  // false for NaN
}

template <typename T>
void add_order(Table& table, const std::string& type) {
  table.lanes("setp.lt." + type, [](T a, T b) { return a < b; });
  table.lanes("setp.le." + type, [](T a, T b) { return a <= b; });
  table.lanes("setp.gt." + type, [](T a, T b) { return a > b; });
  table.lanes("setp.ge." + type, [](T a, T b) { return a >= b; });
}

// The unordered comparisons are true if an operand is NaN.
template <typename T>
void add_unordered(Table& table, const std::string& type) {
  table.lanes("setp.equ." + type, [](T a, T b) { return a == b || std::isnan(a) || std::isnan(b); });
  table.lanes("setp.neu." + type, [](T a, T b) { return a != b; });
  table.lanes("setp.ltu." + type, [](T a, T b) { return !(a >= b); });
  table.lanes("setp.leu." + type, [](T a, T b) { return !(a > b); });
  table.lanes("setp.gtu." + type, [](T a, T b) { return !(a <= b); });
  table.lanes("setp.geu." + type, [](T a, T b) { return !(a < b); });
  table.lanes("setp.num." + type, [](T a, T b) { return !std::isnan(a) && !std::isnan(b); });
  table.lanes("setp.nan." + type, [](T a, T b) { return std::isnan(a) || std::isnan(b); });
}

template <typename T>
void add_selection(Table& table, const std::string& type) {
  table.lanes("selp." + type, [](T a, T b, bool p) { return p ? a : b; });
}

template <typename T>
void add_logic(Table& table, const std::string& type) {
  table.lanes("and." + type, [](T a, T b) { return static_cast<T>(a & b); });
  table.lanes("or." + type, [](T a, T b) { return static_cast<T>(a | b); });
  table.lanes("xor." + type, [](T a, T b) { return static_cast<T>(a ^ b); });
  table.lanes("not." + type, [](T a) { return static_cast<T>(a ^ static_cast<T>(-1)); });
}

// Amounts beyond the width count as the width: shl and shr.u give 0, shr.s copies of the sign.
void add_shifts(Table& table) {
  for_types<uint16_t, uint32_t, uint64_t>([&]<typename T>() {
    constexpr uint32_t kBits = 8 * sizeof(T);
    const auto left = [](T a, uint32_t by) { return by >= kBits ? T{0} : static_cast<T>(a << by); };
    const auto right = [](T a, uint32_t by) { return by >= kBits ? T{0} : static_cast<T>(a >> by); };
    table.lanes("shl." + bits_name<T>(), left);
    table.lanes("shr." + bits_name<T>(), right);
    table.lanes("shr." + type_name<T>(), right);
    using S = std::make_signed_t<T>;
    table.lanes("shr." + type_name<S>(), [](S a, uint32_t by) { return static_cast<S>(a >> std::min(by, kBits - 1)); });
  });
  table.lanes("shf.l.wrap.b32", [](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>(((uint64_t{b} << 32 | a) << (c & 31)) >> 32);
  });
  table.lanes("shf.r.wrap.b32", [](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>((uint64_t{b} << 32 | a) >> (c & 31));
  });
}

// Byte i of the result is the byte of {b, a} that bits 4 i to 4 i + 2 of c choose; bit 4 i + 3 repeats its sign
// instead.
uint32_t permuted(uint32_t a, uint32_t b, uint32_t c) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t choice = c >> (4 * i);
    uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (choice & 7))) & 0xFF;
    if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
}

}  // namespace

void add_comparison_and_logic(Table& table) {
  for_types<int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, float, double>([&]<typename T>() {
    add_equality<T>(table, type_name<T>());
    add_order<T>(table, type_name<T>());
    add_selection<T>(table, type_name<T>());
  });
  for_types<float, double>([&]<typename T>() { add_unordered<T>(table, type_name<T>()); });
  for_types<uint16_t, uint32_t, uint64_t>([&]<typename T>() {
    add_equality<T>(table, bits_name<T>());
    add_selection<T>(table, bits_name<T>());
    add_logic<T>(table, bits_name<T>());
  });
  add_logic<bool>(table, "pred");
  add_shifts(table);
  table.lanes("prmt.b32", [](uint32_t a, uint32_t b, uint32_t c) { return permuted(a, b, c); });
}

}  // namespace weft::emulation::ptx
