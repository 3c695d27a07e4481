// tests/tensor/attention/attention_slots_test.cpp: attention in decoding: each query is a sentence, in any
// order, some idle; keys are anywhere in a cache, some shared by several queries.
#include "tensor/half.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

constexpr int64_t kHeads = 4, kSize = 24, kWidth = kHeads * kSize, kSlots = 37, kCacheRows = 150;

struct Stored {  // a matrix of random values in a storage type
  Buffer buffer;
  Tensor tensor;
  Stored(Workspace& w, DType storage, int64_t rows, int64_t cols = kWidth)
      : buffer(static_cast<size_t>(rows * cols) * size_of(storage)), tensor(buffer.tensor({rows, cols}, storage)) {
    const Tensor x = w.random(tensor.shape);
    for_storage(storage, [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < x.numel(); ++i) tensor.ptr<T>()[i] = from_float<T>(x.ptr<float>()[i]);
    });
  }
  std::string row(int64_t i) const {
    const Tensor t = tensor.slice_rows(i, 1);
    return {static_cast<const char*>(t.data), t.bytes()};
  }
};

// Slot i's query is row (5 i) % kSlots: sentences are not in the order of their rows.
struct Slot {
  int32_t query, end, k_begin, k_end;
};
std::vector<Slot> slots() {
  std::vector<Slot> all;
  for (int32_t i = 0; i < kSlots; ++i) {
    const int32_t query = 5 * i % kSlots, length = i * i % 70 + 1, begin = i % 3 == 0 ? 40 : 37 * i % 80;
    all.push_back({query, query + (i % 7 == 3 ? 0 : 1), begin, begin + length});
  }
  return all;
}

class AttentionSlots : public ::testing::TestWithParam<DType> {
 protected:
  Workspace w;
  Stored q{w, GetParam(), kSlots}, k{w, GetParam(), kCacheRows}, v{w, GetParam(), kCacheRows}, y{w, GetParam(), kSlots};

  void attend(int64_t longest) { attend(longest, k.tensor, v.tensor, kHeads); }
  void attend(int64_t longest, const Tensor& keys, const Tensor& values, int64_t kv_heads) {
    std::vector<int32_t> q_begin, q_end, k_begin, k_end;
    for (const Slot& s : slots()) {
      q_begin.push_back(s.query), q_end.push_back(s.end), k_begin.push_back(s.k_begin), k_end.push_back(s.k_end);
    }
    ops::attention_forward(w.ctx, {.q = q.tensor,
                                   .k = keys,
                                   .v = values,
                                   .q_rows = {w.ints(q_begin), w.ints(q_end), longest},
                                   .k_rows = {w.ints(k_begin), w.ints(k_end)},
                                   .y = y.tensor,
                                   .heads = kHeads,
                                   .kv_heads = kv_heads,
                                   .scale = 0.9f});
  }
  std::string alone(const Slot& s) {
    const Stored result(w, GetParam(), 1);
    ops::attention_forward(w.ctx, {.q = q.tensor.slice_rows(s.query, 1),
                                   .k = k.tensor.slice_rows(s.k_begin, s.k_end - s.k_begin),
                                   .v = v.tensor.slice_rows(s.k_begin, s.k_end - s.k_begin),
                                   .q_rows = {w.ints({0}), w.ints({1})},
                                   .k_rows = {w.ints({0}), w.ints({s.k_end - s.k_begin})},
                                   .y = result.tensor,
                                   .heads = kHeads,
                                   .scale = 0.9f});
    return result.row(0);
  }
};

TEST_P(AttentionSlots, HaveWhatEachQueryHasAloneBitByBit) {
  for (int64_t longest : {0, 1}) {  // unknown, and one row
    attend(longest);
    for (const Slot& s : slots()) {
      if (s.end == s.query) continue;
      EXPECT_TRUE(y.row(s.query) == alone(s)) << "query " << s.query << ", longest " << longest;
    }
  }
}

TEST_P(AttentionSlots, ThatAreIdleHaveZeros) {
  for (int64_t longest : {0, 1}) {
    attend(longest);
    for (const Slot& s : slots()) {
      if (s.end > s.query) continue;
      EXPECT_TRUE(y.row(s.query) == std::string(y.row(s.query).size(), '\0')) << "query " << s.query;
    }
  }
}

TEST_P(AttentionSlots, OfGroupedHeadsHaveWhatCopiesOfTheirKeysGiveBitByBit) {
  constexpr int64_t kKvHeads = 2, kGroup = kHeads / kKvHeads;
  const Stored few_k(w, GetParam(), kCacheRows, kKvHeads * kSize), few_v(w, GetParam(), kCacheRows, kKvHeads * kSize);
  for (const auto& [few, all] : {std::pair{&few_k.tensor, &k.tensor}, {&few_v.tensor, &v.tensor}}) {
    for (int64_t row = 0; row < kCacheRows; ++row) {
      for (int64_t head = 0; head < kHeads; ++head) {
        const Tensor from = few->slice_rows(row, 1).slice_cols(head / kGroup * kSize, kSize);
        std::memcpy(all->slice_rows(row, 1).slice_cols(head * kSize, kSize).data, from.data, from.bytes());
      }
    }
  }
  for (int64_t longest : {0, 1}) {
    attend(longest);
    const std::string want(static_cast<const char*>(y.tensor.data), y.tensor.bytes());
    attend(longest, few_k.tensor, few_v.tensor, kKvHeads);
    EXPECT_TRUE(std::string(static_cast<const char*>(y.tensor.data), y.tensor.bytes()) == want) << longest;
  }
}

INSTANTIATE_TEST_SUITE_P(Storage, AttentionSlots, ::testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace weft::testing
