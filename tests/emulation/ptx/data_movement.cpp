// tests/emulation/ptx/data_movement.cpp: PTX ISA, "Data Movement and Conversion Instructions": mov, ld, st, cvta and
// cp.async.
#include <algorithm>
#include <cstring>

#include "tests/emulation/ptx/forms.h"

namespace weft::emulation::ptx {
namespace {

Access access_of(const Warp& warp, const Instruction& i, int lane) {
  return {.thread = warp.thread(lane), .warp_time = warp.time, .line = i.line};
}

// Writes a value to a register, which may be wider than the value's type.
template <typename T>
void put(Warp& warp, const Operand& to, int lane, T value) {
  using Extended = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  if (to.bytes == sizeof(T))
    warp.lanes<T>(to)[lane] = value;
  else if (to.bytes == 2)
    warp.lanes<uint16_t>(to)[lane] = static_cast<uint16_t>(value);
  else if (to.bytes == 4)
    warp.lanes<uint32_t>(to)[lane] = static_cast<uint32_t>(value);
  else
    warp.lanes<uint64_t>(to)[lane] = static_cast<uint64_t>(Extended{value});
}

template <typename T>
T get(Warp& warp, const Operand& from, int lane) {
  if (from.bytes == sizeof(T)) return warp.lanes<T>(from)[lane];
  if (from.bytes == 2) return static_cast<T>(warp.lanes<uint16_t>(from)[lane]);
  if (from.bytes == 4) return static_cast<T>(warp.lanes<uint32_t>(from)[lane]);
  return static_cast<T>(warp.lanes<uint64_t>(from)[lane]);
}

template <typename T, size_t kNum>
void load(Warp& warp, const Instruction& i, Mask lanes) {
  for_lanes(lanes, [&](int lane) {
    const std::byte* const from = warp.memory().load(i.form->space, warp.address(i.operands[kNum], lane),
                                                     kNum * sizeof(T), access_of(warp, i, lane));
    T values[kNum];
    std::memcpy(values, from, sizeof values);
    for (size_t n = 0; n < kNum; ++n) put(warp, i.operands[n], lane, values[n]);
  });
}

template <typename T, size_t kNum>
void store(Warp& warp, const Instruction& i, Mask lanes) {
  for_lanes(lanes, [&](int lane) {
    T values[kNum];
    for (size_t n = 0; n < kNum; ++n) values[n] = get<T>(warp, i.operands[1 + n], lane);
    std::byte* const to =
        warp.memory().store(i.form->space, warp.address(i.operands[0], lane), sizeof values, access_of(warp, i, lane));
    std::memcpy(to, values, sizeof values);
  });
}

template <typename T, size_t kNum>
void add_loads_and_stores(Table& table, const std::string& type) {
  struct SpaceName {
    const char* name;
    Space space;
  };
  constexpr SpaceName kSpaces[] = {{"", Space::global},           {".global", Space::global},
                                   {".global.nc", Space::global}, {".shared", Space::shared},
                                   {".local", Space::local},      {".param", Space::param}};
  constexpr uint8_t kLeast = std::max<size_t>(sizeof(T), 2);  // bytes of a register
  for (const auto& [name, space] : kSpaces) {
    Form form{.execute = load<T, kNum>,
              .operands = std::vector<uint8_t>(kNum, kLeast),
              .wider = Wider::taken,
              .space = space,
              .results = kNum,
              .access_bytes = kNum * sizeof(T)};
    form.operands.push_back(kAddress);
    table.add("ld" + (name + type), form);
    if (space == Space::param || name == std::string(".global.nc")) continue;  // read-only
    form.execute = store<T, kNum>;
    form.results = 0;
    form.operands.insert(form.operands.begin(), kAddress);
    form.operands.pop_back();
    table.add("st" + (name + type), form);
  }
}

void add_loads_and_stores(Table& table) {
  for_types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>([&]<typename T>() {
    std::vector<std::string> types{type_name<T>()};
    if (!std::is_signed_v<T>) types.push_back(bits_name<T>());
    if (!std::is_signed_v<T> && sizeof(T) >= 4) types.push_back("f" + std::to_string(8 * sizeof(T)));
    for (const std::string& type : types) {
      add_loads_and_stores<T, 1>(table, "." + type);
      add_loads_and_stores<T, 2>(table, ".v2." + type);
      add_loads_and_stores<T, 4>(table, ".v4." + type);
    }
  });
}

template <typename Whole, typename Half>
void add_halves(Table& table) {
  constexpr uint8_t kWhole = sizeof(Whole), kHalf = sizeof(Half);
  const auto split = [](Warp& warp, const Instruction& i, Mask lanes) {
    Half *const low = warp.lanes<Half>(i.operands[0]), *const high = warp.lanes<Half>(i.operands[1]);
    const Whole* const from = warp.lanes<Whole>(i.operands[2]);
    for_lanes(lanes, [&](int lane) {
      const Whole whole = from[lane];
      low[lane] = static_cast<Half>(whole), high[lane] = static_cast<Half>(whole >> (8 * kHalf));
    });
  };
  const auto join = [](Warp& warp, const Instruction& i, Mask lanes) {
    Whole* const to = warp.lanes<Whole>(i.operands[0]);
    const Half *const low = warp.lanes<Half>(i.operands[1]), *const high = warp.lanes<Half>(i.operands[2]);
    for_lanes(lanes, [&](int lane) {
      to[lane] = static_cast<Whole>(static_cast<Whole>(high[lane]) << (8 * kHalf) | low[lane]);
    });
  };
  table.add("mov." + bits_name<Whole>() + " 2,1", {.execute = split, .operands = {kHalf, kHalf, kWhole}, .results = 2});
  table.add("mov." + bits_name<Whole>() + " 1,2", {.execute = join, .operands = {kWhole, kHalf, kHalf}});
}

void add_moves(Table& table) {
  for_types<uint16_t, uint32_t, uint64_t>([&]<typename T>() {
    const auto same = [](T a) { return a; };
    table.lanes("mov." + bits_name<T>(), same);
    table.lanes("mov." + type_name<T>(), same);
    table.lanes("mov." + type_name<std::make_signed_t<T>>(), same);
  });
  table.lanes("mov.f32", [](float a) { return a; });
  table.lanes("mov.f64", [](double a) { return a; });
  table.lanes("mov.pred", [](bool a) { return a; });
  add_halves<uint32_t, uint16_t>(table);
  add_halves<uint64_t, uint32_t>(table);
}

// Generic addresses of shared and local memory have a bit of their own (program.h).
void add_address_conversions(Table& table) {
  table.lanes("cvta.global.u64", [](uint64_t a) { return a; });
  table.lanes("cvta.to.global.u64", [](uint64_t a) { return a; });
  table.lanes("cvta.shared.u64", [](uint64_t a) { return a | kSharedWindow; });
  table.lanes("cvta.local.u64", [](uint64_t a) { return a | kLocalWindow; });
  table.lanes("cvta.to.shared.u64", [](uint64_t a) { return a & ~kWindows; });
  table.lanes("cvta.to.local.u64", [](uint64_t a) { return a & ~kWindows; });
}

// cp.async.cg.shared.global [to], [from], 16, bytes: copies `bytes`, and writes zeros after them.
void copy(Warp& warp, const Instruction& i, Mask lanes) {
  const uint32_t *const size = warp.lanes<uint32_t>(i.operands[2]), *const existing =
                                                                        warp.lanes<uint32_t>(i.operands[3]);
  for_lanes(lanes, [&](int lane) {
    const Access access = access_of(warp, i, lane);
    if (size[lane] != 16 || (existing[lane] != 0 && existing[lane] != 16))
      throw Error("line " + std::to_string(i.line) + ": cp.async of " + std::to_string(existing[lane]) + " bytes");
    warp.memory().copy(warp.address(i.operands[0], lane), warp.address(i.operands[1], lane), existing[lane] != 0,
                       access);
  });
}

void add_async_copies(Table& table) {
  table.add(
      "cp.async.cg.shared.global",
      {.execute = copy, .operands = {kAddress, kAddress, 4, 4}, .results = 0, .access_bytes = 16, .copies = true});
  table.add("cp.async.commit_group",
            {.execute =
                 [](Warp& warp, const Instruction&, Mask lanes) {
                   for_lanes(lanes, [&](int lane) { warp.memory().end_copy_group(warp.thread(lane)); });
                 },
             .results = 0});
  table.add("cp.async.wait_group",
            {.execute =
                 [](Warp& warp, const Instruction& i, Mask lanes) {
                   const auto left = static_cast<int>(warp.lanes<uint32_t>(i.operands[0])[0]);
                   for_lanes(lanes, [&](int lane) { warp.memory().await_copies(left, access_of(warp, i, lane)); });
                 },
             .operands = {4},
             .results = 0,
             .awaits_copies = true});
}

}  // namespace

void add_data_movement(Table& table) {
  add_moves(table);
  add_loads_and_stores(table);
  add_address_conversions(table);
  add_async_copies(table);
}

}  // namespace weft::emulation::ptx
