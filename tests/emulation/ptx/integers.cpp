// tests/emulation/ptx/integers.cpp: PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer
// Arithmetic Instructions".
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "tests/emulation/ptx/forms.h"

namespace weft::emulation::ptx {
namespace {

// Operations wrap around; unsigned arithmetic avoids undefined behavior.
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

template <typename T>
constexpr T wrapped(Wrapping<T> value) {
  return static_cast<T>(value);
}

// The quotient by 0 is unspecified, so a kernel must not need it: a trap value makes results differ.
template <typename T>
T quotient(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return wrapped<T>(0 - static_cast<Wrapping<T>>(a));
  return static_cast<T>(a / b);
}

template <typename T>
T remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}

template <typename T, typename Wide>
T high_part(T a, T b) {
  return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> (8 * sizeof(T)));
}

void add_sums_and_products(Table& table) {
  for_types<int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t>([&]<typename T>() {
    using U = Wrapping<T>;
    const std::string type = type_name<T>();
    table.lanes("add." + type, [](T a, T b) { return wrapped<T>(static_cast<U>(a) + static_cast<U>(b)); });
    table.lanes("sub." + type, [](T a, T b) { return wrapped<T>(static_cast<U>(a) - static_cast<U>(b)); });
    table.lanes("mul.lo." + type, [](T a, T b) { return wrapped<T>(static_cast<U>(a) * static_cast<U>(b)); });
    table.lanes("mad.lo." + type,
                [](T a, T b, T c) { return wrapped<T>(static_cast<U>(a) * static_cast<U>(b) + static_cast<U>(c)); });
    table.lanes("div." + type, [](T a, T b) { return quotient(a, b); });
    table.lanes("rem." + type, [](T a, T b) { return remainder(a, b); });
    table.lanes("min." + type, [](T a, T b) { return std::min(a, b); });
    table.lanes("max." + type, [](T a, T b) { return std::max(a, b); });
  });
  for_types<int16_t, int32_t, int64_t>([&]<typename T>() {
    table.lanes("neg." + type_name<T>(), [](T a) { return wrapped<T>(0 - static_cast<Wrapping<T>>(a)); });
    table.lanes("abs." + type_name<T>(), [](T a) { return a < 0 ? wrapped<T>(0 - static_cast<Wrapping<T>>(a)) : a; });
  });
}

void add_wide_products(Table& table) {
  table.lanes("mul.wide.s16", [](int16_t a, int16_t b) { return int32_t{a} * b; });
  table.lanes("mul.wide.u16", [](uint16_t a, uint16_t b) { return uint32_t{a} * b; });
  table.lanes("mul.wide.s32", [](int32_t a, int32_t b) { return int64_t{a} * b; });
  table.lanes("mul.wide.u32", [](uint32_t a, uint32_t b) { return uint64_t{a} * b; });
  table.lanes("mul.hi.s32", [](int32_t a, int32_t b) { return high_part<int32_t, int64_t>(a, b); });
  table.lanes("mul.hi.u32", [](uint32_t a, uint32_t b) { return high_part<uint32_t, uint64_t>(a, b); });
  table.lanes("mul.hi.s64", [](int64_t a, int64_t b) { return high_part<int64_t, __int128>(a, b); });
  table.lanes("mul.hi.u64", [](uint64_t a, uint64_t b) { return high_part<uint64_t, unsigned __int128>(a, b); });
}

uint32_t reversed(uint32_t x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
  return __builtin_bswap32(x);
}

void add_bit_operations(Table& table) {
  table.lanes("popc.b32", [](uint32_t a) { return static_cast<uint32_t>(std::popcount(a)); });
  table.lanes("popc.b64", [](uint64_t a) { return static_cast<uint32_t>(std::popcount(a)); });
  table.lanes("clz.b32", [](uint32_t a) { return static_cast<uint32_t>(std::countl_zero(a)); });
  table.lanes("clz.b64", [](uint64_t a) { return static_cast<uint32_t>(std::countl_zero(a)); });
  table.lanes("brev.b32", [](uint32_t a) { return reversed(a); });
  // Without a bit that is set: 0xFFFFFFFF.
  table.lanes("bfind.u32", [](uint32_t a) { return a == 0 ? ~0u : 31u - static_cast<uint32_t>(std::countl_zero(a)); });
  table.lanes("bfind.shiftamt.u32",
              [](uint32_t a) { return a == 0 ? ~0u : static_cast<uint32_t>(std::countl_zero(a)); });
  // Position and length are the low 8 bits of their operands.
  table.lanes("bfe.u32", [](uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t position = b & 0xFF, length = c & 0xFF;
    const uint32_t shifted = position > 31 ? 0 : a >> position;
    return length > 31 ? shifted : shifted & ((1u << length) - 1);
  });
  table.lanes("bfi.b32", [](uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    const uint32_t position = c & 0xFF, length = d & 0xFF;
    if (position > 31 || length == 0) return b;
    const uint32_t ones = length > 31 ? ~0u : (1u << length) - 1;
    return (b & ~(ones << position)) | (a & ones) << position;
  });
}

enum class Carry : uint8_t { out, in, in_and_out };

// `function` returns a sum whose bit 32 is the carry or, in a difference, the borrow.
template <Carry kCarry, typename Function, typename... Arguments, size_t... kIndices>
void run_carry(Warp& warp, const Instruction& i, Mask lanes, std::index_sequence<kIndices...>) {
  const auto run = [&](const Reader<Arguments>&... arguments) {
    uint32_t* const result = warp.lanes<uint32_t>(i.operands[0]);
    for (Mask left = lanes; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const uint64_t carry = kCarry == Carry::out ? 0 : warp.carry >> lane & 1u;
      const uint64_t sum = Function{}(uint64_t{arguments[lane]}..., carry);
      result[lane] = static_cast<uint32_t>(sum);
      if (kCarry != Carry::in) warp.carry = (warp.carry & ~(1u << lane)) | static_cast<Mask>(sum >> 32 & 1) << lane;
    }
  };
  run(Reader<Arguments>(warp, i.operands[1 + kIndices])...);
}

template <Carry kCarry, size_t kArguments, typename Function>
void add_carry(Table& table, const std::string& name, Function) {
  constexpr auto kExecute = [](Warp& warp, const Instruction& i, Mask lanes) {
    if constexpr (kArguments == 2)
      run_carry<kCarry, Function, uint32_t, uint32_t>(warp, i, lanes, std::make_index_sequence<2>());
    else
      run_carry<kCarry, Function, uint32_t, uint32_t, uint32_t>(warp, i, lanes, std::make_index_sequence<3>());
  };
  table.add(name, {.execute = kExecute, .operands = std::vector<uint8_t>(1 + kArguments, 4)});
}

// name.cc sets the carry, namec reads it, namec.cc does both.
template <size_t kArguments, typename Function>
void add_carries(Table& table, const std::string& name, const std::string& mode, Function function) {
  add_carry<Carry::out, kArguments>(table, name + mode + ".cc.u32", function);
  add_carry<Carry::in, kArguments>(table, name + "c" + mode + ".u32", function);
  add_carry<Carry::in_and_out, kArguments>(table, name + "c" + mode + ".cc.u32", function);
}

void add_extended_precision(Table& table) {
  add_carries<2>(table, "add", "", [](uint64_t a, uint64_t b, uint64_t carry) { return a + b + carry; });
  add_carries<2>(table, "sub", "", [](uint64_t a, uint64_t b, uint64_t borrow) { return a - b - borrow; });
  add_carries<3>(table, "mad", ".lo",
                 [](uint64_t a, uint64_t b, uint64_t c, uint64_t carry) { return (a * b & 0xFFFFFFFFu) + c + carry; });
  add_carries<3>(table, "mad", ".hi",
                 [](uint64_t a, uint64_t b, uint64_t c, uint64_t carry) { return (a * b >> 32) + c + carry; });
}

}  // namespace

void add_integer_arithmetic(Table& table) {
  add_sums_and_products(table);
  add_wide_products(table);
  add_bit_operations(table);
  add_extended_precision(table);
}

}  // namespace weft::emulation::ptx
