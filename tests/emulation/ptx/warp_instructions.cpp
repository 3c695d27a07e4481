// tests/emulation/ptx/warp_instructions.cpp: control flow, and instructions that a warp's lanes execute together: PTX
// ISA, "Control Flow Instructions", "Parallel Synchronization and Communication Instructions", "Warp Level Matrix
// Instructions".
#include <bit>
#include <cfenv>
#include <cstdint>
#include <cstring>

#include "tests/emulation/ptx/forms.h"

namespace weft::emulation::ptx {
namespace {

// shfl.sync d|p, a, b, c, membermask: c has the clamp in bits 0 to 4, and the mask that divides the warp in segments in
// bits 8 to 12. A lane outside of its segment gives its own value. Other lanes' values must exist.
template <typename Source>
void shuffle(Warp& warp, const Instruction& i, Mask lanes) {
  const bool has_predicate = i.form->operands.size() == 6;
  const Operand* const o = i.operands + (has_predicate ? 2 : 1);
  const uint32_t *const b = warp.lanes<uint32_t>(o[1]), *const c = warp.lanes<uint32_t>(o[2]);
  uint32_t values[kLanes];
  std::memcpy(values, warp.lanes<uint32_t>(o[0]), sizeof values);  // the result may be the same register
  uint32_t* const result = warp.lanes<uint32_t>(i.operands[0]);
  Mask in_range = 0;
  for_lanes(lanes, [&](int lane) {
    const int clamp = static_cast<int>(c[lane] & 31), segments = static_cast<int>(c[lane] >> 8 & 31);
    const int least = lane & segments, greatest = (lane & segments) | (clamp & ~segments);
    const int from = Source{}(lane, static_cast<int>(b[lane] & 31), least, segments);
    const bool is_in = Source::kIsUp ? from >= greatest : from <= greatest;
    const int source = is_in ? from : lane;
    if ((lanes >> source & 1u) == 0)
      throw Error("line " + std::to_string(i.line) + ": " + i.form->name + " from a lane that does not execute it");
    result[lane] = values[source];
    in_range |= static_cast<Mask>(is_in) << lane;
  });
  if (!has_predicate) return;
  Mask& predicate = warp.predicate(i.operands[1]);
  predicate = (predicate & ~lanes) | in_range;
}

struct Up {
  static constexpr bool kIsUp = true;
  int operator()(int lane, int by, int, int) const { return lane - by; }
};
struct Down {
  static constexpr bool kIsUp = false;
  int operator()(int lane, int by, int, int) const { return lane + by; }
};
struct Butterfly {
  static constexpr bool kIsUp = false;
  int operator()(int lane, int by, int, int) const { return lane ^ by; }
};
struct Index {
  static constexpr bool kIsUp = false;
  int operator()(int, int from, int least, int segments) const { return least | (from & ~segments); }
};

template <typename Source>
void add_shuffle(Table& table, const std::string& name) {
  table.add("shfl.sync." + name + ".b32 2,1,1,1,1", {.execute = shuffle<Source>,
                                                     .operands = {4, kPredicate, 4, 4, 4, 4},
                                                     .flow = Flow::together,
                                                     .mask = 5,
                                                     .results = 2});
  table.add("shfl.sync." + name + ".b32 1,1,1,1,1",
            {.execute = shuffle<Source>, .operands = {4, 4, 4, 4, 4}, .flow = Flow::together, .mask = 4});
}

void ballot(Warp& warp, const Instruction& i, Mask lanes) {
  const Mask votes = warp.predicate(i.operands[1]) & lanes;
  uint32_t* const result = warp.lanes<uint32_t>(i.operands[0]);
  for_lanes(lanes, [&](int lane) { result[lane] = votes; });
}

float widened_bf16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
float widened_f16(uint32_t bits) { return static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits))); }

struct RoundTowardZero {
  RoundTowardZero() { std::fesetround(FE_TOWARDZERO); }
  ~RoundTowardZero() { std::fesetround(FE_TONEAREST); }
};

// D = A B + C with A of 16 x 16, B of 16 x 8, C and D of 16 x 8 ("Matrix Fragments for mma.m16n8k16 with floating point
// type"). With g = lane / 4 and t = lane % 4:
//   A: element i of the lane, 0 to 7, is in row g, or g + 8 for i = 2, 3, 6, 7; column 2 t + i % 2, + 8 for i >= 4
//   B: element i, 0 to 3, is in row 2 t + i % 2, + 8 for i >= 2; column g
//   C, D: element i, 0 to 3, is in row g, or g + 8 for i >= 2; column 2 t + i % 2
// The order and the rounding of the sums are not specified. Here every sum is rounded toward zero, which is worse than
// GPUs are (Fasi et al., "Numerical behavior of NVIDIA tensor cores", 2021, find truncated sums of up to 8 products).
using Left = float[16][16];
using Right = float[16][8];
using Result = float[16][8];

[[gnu::noinline]] void add_product(const Left& a, const Right& b,
                                   Result& c) {  // a call, so that the rounding stays around it
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < 16; ++k)
      for (int column = 0; column < 8; ++column)
        c[row][column] = __builtin_fmaf(a[row][k], b[k][column], c[row][column]);
}

void require_all_lanes(const Instruction& i, Mask lanes) {
  if (lanes != kAllLanes)
    throw Error("line " + std::to_string(i.line) + ": " + i.form->name + " in a warp of fewer than 32 lanes");
}

template <float (*kWiden)(uint32_t)>
void multiply_matrices(Warp& warp, const Instruction& i, Mask lanes) {
  require_all_lanes(i, lanes);
  Left a;
  Right b;
  Result c;
  const Operand *const to = i.operands, *const from_a = to + 4, *const from_b = to + 8, *const from_c = to + 10;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int e = 0; e < 8; ++e)
      a[g + e / 2 % 2 * 8][2 * t + e % 2 + e / 4 * 8] =
          kWiden(warp.lanes<uint32_t>(from_a[e / 2])[lane] >> (16 * (e % 2)) & 0xFFFF);
    for (int e = 0; e < 4; ++e) {
      b[2 * t + e % 2 + e / 2 * 8][g] = kWiden(warp.lanes<uint32_t>(from_b[e / 2])[lane] >> (16 * (e % 2)) & 0xFFFF);
      c[g + e / 2 * 8][2 * t + e % 2] = warp.lanes<float>(from_c[e])[lane];
    }
  }
  {
    const RoundTowardZero rounding;
    add_product(a, b, c);
  }
  for (int lane = 0; lane < kLanes; ++lane)
    for (int e = 0; e < 4; ++e) warp.lanes<float>(to[e])[lane] = c[lane / 4 + e / 2 * 8][2 * (lane % 4) + e % 2];
}

// ldmatrix .x4: lane 8 m + r gives the address of row r of matrix m: 8 elements of 16 bits. Register m of a lane gets
// elements 2 t and 2 t + 1 of row g of matrix m; with .trans, of column g.
template <bool kTransposed>
void load_matrices(Warp& warp, const Instruction& i, Mask lanes) {
  require_all_lanes(i, lanes);
  const std::byte* rows[kLanes];
  const Operand& address = i.operands[4];
  for_lanes(lanes, [&](int lane) {
    const uint64_t at = address.bytes == 4 ? warp.lanes<uint32_t>(address)[lane] : warp.lanes<uint64_t>(address)[lane];
    rows[lane] = warp.memory().load(Space::shared, at + static_cast<uint64_t>(address.offset), 16,
                                    {.thread = warp.thread(lane), .warp_time = warp.time, .line = i.line});
  });
  for (int lane = 0; lane < kLanes; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int matrix = 0; matrix < 4; ++matrix) {
      uint16_t pair[2];
      for (int e = 0; e < 2; ++e) {
        const int row = kTransposed ? 2 * t + e : g, column = kTransposed ? g : 2 * t + e;
        std::memcpy(&pair[e], rows[8 * matrix + row] + sizeof(uint16_t) * static_cast<size_t>(column),
                    sizeof(uint16_t));
      }
      warp.lanes<uint32_t>(i.operands[matrix])[lane] = pair[0] | uint32_t{pair[1]} << 16;
    }
  }
}

void add_matrix_instructions(Table& table) {
  const Form mma{.operands = std::vector<uint8_t>(14, 4), .flow = Flow::together, .is_aligned = true, .results = 4};
  Form bf16 = mma, f16 = mma;
  bf16.execute = multiply_matrices<widened_bf16>, f16.execute = multiply_matrices<widened_f16>;
  table.add("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", bf16);
  table.add("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", f16);
  const Form load{.operands = {4, 4, 4, 4, kAddress},
                  .flow = Flow::together,
                  .is_aligned = true,
                  .space = Space::shared,
                  .results = 4,
                  .access_bytes = 16};
  Form plain = load, transposed = load;
  plain.execute = load_matrices<false>, transposed.execute = load_matrices<true>;
  table.add("ldmatrix.sync.aligned.m8n8.x4.shared.b16", plain);
  table.add("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", transposed);
}

}  // namespace

void add_warp_instructions(Table& table) {
  for (const char* name : {"bra", "bra.uni"}) table.add(name, {.flow = Flow::branch, .results = 0});
  table.add("ret", {.flow = Flow::leave, .results = 0});
  table.add("exit", {.flow = Flow::leave, .results = 0});
  table.add("bar.sync", {.operands = {4}, .flow = Flow::barrier, .is_aligned = true, .results = 0});
  table.add("bar.warp.sync", {.execute = [](Warp& warp, const Instruction&, Mask) { ++warp.time; },
                              .operands = {4},
                              .flow = Flow::together,
                              .mask = 0,
                              .results = 0});
  add_shuffle<Up>(table, "up");
  add_shuffle<Down>(table, "down");
  add_shuffle<Butterfly>(table, "bfly");
  add_shuffle<Index>(table, "idx");
  table.add("vote.sync.ballot.b32",
            {.execute = ballot, .operands = {4, kPredicate, 4}, .flow = Flow::together, .mask = 2});
  add_matrix_instructions(table);
}

}  // namespace weft::emulation::ptx
