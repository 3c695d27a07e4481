// tests/emulation/ptx/forms.h: builds the table of instructions. A row consists of a name and a function of one lane:
//
//   table.lanes("add.f32", [](float a, float b) { return a + b; });
//
// The function's types say how wide the operands are; bool stands for a predicate.
#pragma once

#include <array>
#include <bit>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "tests/emulation/ptx/warp.h"

namespace weft::emulation::ptx {

// Calls body(lane) for each lane of the mask. The loop over all lanes is vectorized.
template <typename Body>
void for_lanes(Mask lanes, const Body& body) {
  if (lanes == kAllLanes) {
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) body(lane);
  } else {
    for (Mask left = lanes; left != 0; left &= left - 1) body(std::countr_zero(left));
  }
}

template <typename T>
constexpr uint8_t operand_bytes() {
  return std::is_same_v<T, bool> ? kPredicate : static_cast<uint8_t>(sizeof(T));
}

template <typename T>
struct Reader {
  Reader(Warp& warp, const Operand& operand) : values(warp.lanes<T>(operand)) {}
  T operator[](int lane) const { return values[lane]; }
  const T* values;
};
template <>
struct Reader<bool> {
  Reader(Warp& warp, const Operand& operand) : bits(warp.predicate(operand)) {}
  bool operator[](int lane) const { return (bits >> lane & 1u) != 0; }
  Mask bits;
};

template <typename T>
struct Writer {
  Writer(Warp& warp, const Operand& operand, Mask) : values(warp.lanes<T>(operand)) {}
  void set(int lane, T value) { values[lane] = value; }
  T* values;
};
template <>
struct Writer<bool> {
  Writer(Warp& warp, const Operand& operand, Mask lanes) : mask(warp.predicate(operand)), bits(mask & ~lanes) {}
  ~Writer() { mask = bits; }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  void set(int lane, bool value) { bits |= static_cast<Mask>(value) << lane; }
  Mask& mask;
  Mask bits;
};

template <typename Function, typename Result, typename... Arguments, size_t... kIndices>
void run_lanes(Warp& warp, const Instruction& i, Mask lanes, std::index_sequence<kIndices...>) {
  const auto run = [&](const Reader<Arguments>&... arguments) {
    Writer<Result> result(warp, i.operands[0], lanes);
    for_lanes(lanes, [&](int lane) { result.set(lane, Function{}(arguments[lane]...)); });
  };
  run(Reader<Arguments>(warp, i.operands[1 + kIndices])...);
}

class Table {
 public:
  void add(const std::string& name, Form form) {
    form.name = name;
    form.slots = issue_slots(name);
    forms_[name] = std::move(form);
  }

  template <typename Function>
  void lanes(const std::string& name, Function function) {
    add_lanes(name, function, &Function::operator());
  }
  template <typename Function>
  void narrowing_lanes(const std::string& name, Function function) {  // of registers that may be wider
    lanes(name, function);
    forms_[name].wider = Wider::narrowed;
  }

  const Form* find(const std::string& name) const {
    const auto found = forms_.find(name);
    return found == forms_.end() ? nullptr : &found->second;
  }

 private:
  template <typename Function, typename Result, typename... Arguments>
  void add_lanes(const std::string& name, Function, Result (Function::*)(Arguments...) const) {
    constexpr auto kExecute = [](Warp& warp, const Instruction& i, Mask lanes) {
      run_lanes<Function, Result, Arguments...>(warp, i, lanes, std::index_sequence_for<Arguments...>());
    };
    add(name, {.execute = kExecute, .operands = {operand_bytes<Result>(), operand_bytes<Arguments>()...}});
  }

  std::unordered_map<std::string, Form> forms_;
};

// The suffix of a C++ type: "f32", "s16", "u64".
template <typename T>
std::string type_name() {
  const char letter = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 's' : 'u';
  return letter + std::to_string(8 * sizeof(T));
}
template <typename T>
std::string bits_name() {  // "b32"
  return "b" + std::to_string(8 * sizeof(T));
}

// Calls body.operator()<T>() for each type.
template <typename... Types, typename Body>
void for_types(const Body& body) {
  (body.template operator()<Types>(), ...);
}

// Each adds the rows of a part of the PTX ISA.
void add_integer_arithmetic(Table& table);
void add_floating_point(Table& table);
void add_comparison_and_logic(Table& table);
void add_data_movement(Table& table);
void add_conversions(Table& table);
void add_warp_instructions(Table& table);

}  // namespace weft::emulation::ptx
