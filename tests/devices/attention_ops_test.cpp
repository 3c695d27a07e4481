// tests/devices/attention_ops_test.cpp: attention forward, backward and probabilities over random packings.
#include <algorithm>
#include <cmath>

#include "tests/devices/op_comparison.h"
#include "tests/support/errors.h"
#include "tests/support/sequence_ranges.h"

namespace weft::testing {
namespace {

// In half precision matmul operands are rounded, perhaps on both devices (attention_tiles_test.cpp).
Agreement of_attention(DType storage, int64_t length) {
  return {.sums = tolerance(length, 2), .in_norm = storage == DType::bf16 ? 0x1p-7 : 0x1p-10};
}

// Consecutive sentences of zero to many rows, with unused rows between them and at the end.
struct Side {
  SentenceRows sentences;
  int64_t rows = 0, longest = 0;

  ops::SequenceRanges ranges(RandomArguments& r, const Side& keys) const {
    ops::SequenceRanges s = sequence_ranges(sentences, rows, keys.sentences, [&](const auto& v) { return r.ints(v); });
    s.longest = r.coin() ? longest : 0;
    return s;
  }
};
Side random_side(RandomArguments& r, int64_t sentences) {
  Side side;
  int64_t row = 0;
  for (int64_t i = 0; i < sentences; ++i) {
    const int64_t length = r.one_of<int64_t>({0, 1, 2, 7, 16, 33, 64, 80, 150});
    const int64_t begin = row + (r.coin() ? 0 : r.from(1, 3));
    row = begin + length;
    side.sentences.emplace_back(static_cast<int32_t>(begin), static_cast<int32_t>(row));
    side.longest = std::max(side.longest, length);
  }
  side.rows = row + r.from(1, 9);
  return side;
}

struct Arguments {
  Side q, k;
  int64_t heads, kv_heads, width, kv_width;
  weft::ops::AttentionForward forward;

  explicit Arguments(RandomArguments& r) {
    const int64_t sentences = r.from(1, 6);
    const int64_t head_size = r.one_of<int64_t>({3, 8, 16, 17, 32, 64, 80, 128});
    const bool is_self = r.coin();
    q = random_side(r, sentences), k = is_self ? q : random_side(r, sentences);
    const int64_t group = r.one_of<int64_t>({1, 1, 2, 3});
    kv_heads = r.from(1, 3), heads = kv_heads * group;
    width = heads * head_size, kv_width = kv_heads * head_size;
    forward = {.q = r.matrix(q.rows, width),
               .k = r.matrix(k.rows, kv_width),
               .v = r.matrix(k.rows, kv_width),
               .q_rows = q.ranges(r, k),
               .k_rows = k.ranges(r, k),
               .y = r.matrix(q.rows, width),
               .lse = r.floats({heads, q.rows}),
               .heads = heads,
               .kv_heads = kv_heads,
               .causal = is_self && r.coin(),
               .scale = 2 / std::sqrt(static_cast<float>(head_size))};
  }
  int64_t length() const { return width / heads + k.rows; }
};

void compare_attention_forward(RandomArguments& r, OpComparison& devices) {
  Arguments a(r);
  if (r.coin()) a.forward.q_rows.of_row = Tensor();
  if (r.coin()) a.forward.lse = Tensor();
  a.forward.dropout = r.dropout(a.k.rows);
  devices.expect_same(weft::ops::attention_forward, a.forward, of_attention(r.storage, a.length()));
}

void compare_attention_backward(RandomArguments& r, OpComparison& devices) {
  Arguments a(r);
  a.forward.dropout = r.dropout(a.k.rows);
  weft::ops::attention_forward(devices.cpu(), a.forward);
  const weft::ops::AttentionForward& f = a.forward;
  devices.expect_same(weft::ops::attention_backward,
                      {.q = f.q,
                       .k = f.k,
                       .v = f.v,
                       .q_rows = f.q_rows,
                       .k_rows = f.k_rows,
                       .y = f.y,
                       .lse = f.lse,
                       .d_y = r.matrix(a.q.rows, a.width),
                       .d_q = r.matrix(a.q.rows, a.width),
                       .d_k = r.matrix(a.k.rows, a.kv_width),
                       .d_v = r.matrix(a.k.rows, a.kv_width),
                       .heads = a.heads,
                       .kv_heads = a.kv_heads,
                       .causal = f.causal,
                       .scale = f.scale,
                       .dropout = f.dropout},
                      of_attention(r.storage, 2 * a.length()));
}

void compare_attention_weights(RandomArguments& r, OpComparison& devices) {
  Arguments a(r);
  a.forward.causal = false;
  weft::ops::attention_forward(devices.cpu(), a.forward);
  const int64_t first = r.from(0, a.heads - 1);
  devices.expect_same(weft::ops::attention_weights,
                      {.q = a.forward.q,
                       .k = a.forward.k,
                       .q_rows = a.forward.q_rows,
                       .k_rows = a.forward.k_rows,
                       .lse = a.forward.lse,
                       .heads = a.heads,
                       .kv_heads = a.kv_heads,
                       .first_head = first,
                       .num_heads = r.from(0, a.heads - first),
                       .scale = a.forward.scale,
                       .factor = 0.5f,
                       .y = r.matrix(a.q.rows, 150 + r.from(0, 9), DType::f32)},
                      of_attention(r.storage, a.length()));
}

constexpr OpCase kCases[] = {
    {"attention_forward", compare_attention_forward},
    {"attention_backward", compare_attention_backward},
    {"attention_weights", compare_attention_weights},
};

class AttentionOps : public ::testing::TestWithParam<OpCase> {};
TEST_P(AttentionOps, AreTheSameOnBothDevices) { compare_on_many_arguments(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Random, AttentionOps, ::testing::ValuesIn(kCases), name_of);

// A GPU's kernels are compiled for heads of up to 128 columns; the dry run for the plan refuses larger ones.
TEST(AttentionOfWideHeads, IsRefusedByADryRun) {
  Context dry(Device::cuda, /*dry_run=*/true);
  const auto tensor = [](Shape shape, DType dtype) { return Tensor(nullptr, shape, dtype, Device::cuda); };
  const Tensor rows = tensor({5, 129}, DType::bf16);
  const weft::ops::SequenceRanges one{tensor({1}, DType::i32), tensor({1}, DType::i32)};
  const auto attend = [&] {
    weft::ops::attention_forward(dry, {.q = rows, .k = rows, .v = rows, .q_rows = one, .k_rows = one, .y = rows});
  };
  EXPECT_EQ(
      message_of(ErrorKind::usage, attend),
      "attention heads have 129 columns, but GPUs support at most 128; train with more heads or a smaller model.width");
}

}  // namespace
}  // namespace weft::testing
