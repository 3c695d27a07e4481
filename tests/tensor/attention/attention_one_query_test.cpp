// tests/tensor/attention/attention_one_query_test.cpp: attention of one query of each sentence, as in decoding,
// compared with loops in double, in every storage type.
#include <fmt/format.h>

#include "tensor/half.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

struct QueryCase {
  int64_t heads, kv_heads, size;
  std::vector<int32_t> keys;  // of each sentence
};

class StoredMatrix {  // in a storage type: NaN where it was not filled
 public:
  StoredMatrix(DType storage, Shape shape)
      : buffer_(static_cast<size_t>(shape.numel()) * size_of(storage)), tensor_(buffer_.tensor(shape, storage)) {
    std::memset(tensor_.data, 0xFF, tensor_.bytes());
  }
  const Tensor& tensor() const { return tensor_; }
  void fill_row(Workspace& w, int64_t row) {
    const Tensor x = w.random({tensor_.cols()});
    for (int64_t col = 0; col < tensor_.cols(); ++col)
      for_storage(tensor_.dtype, [&](auto zero) {
        tensor_.ptr<decltype(zero)>()[row * tensor_.cols() + col] = from_float<decltype(zero)>(x.ptr<float>()[col]);
      });
  }
  double at(int64_t row, int64_t col) const {
    return for_storage(tensor_.dtype, [&](auto zero) -> double {
      return to_float(tensor_.ptr<decltype(zero)>()[row * tensor_.cols() + col]);
    });
  }

 private:
  Buffer buffer_;
  Tensor tensor_;
};

class OneQueryAttention : public ::testing::TestWithParam<DType> {
 protected:
  static constexpr float kScale = 0.4f;

  // Each query is between unused rows, and so are the keys of a sentence.
  static int64_t query_row(size_t sentence) { return 1 + 2 * static_cast<int64_t>(sentence); }

  static void expect_right(const QueryCase& c) {
    SCOPED_TRACE(fmt::format("{} heads, {} of keys, size {}, {} keys", c.heads, c.kv_heads, c.size, c.keys.front()));
    Workspace w;
    const int64_t kv_width = c.kv_heads * c.size;
    std::vector<int32_t> q_begin, q_end, k_begin, k_end;
    for (size_t i = 0; i < c.keys.size(); ++i) {
      q_begin.push_back(static_cast<int32_t>(query_row(i))), q_end.push_back(q_begin.back() + 1);
      k_begin.push_back(i == 0 ? 2 : k_end.back() + 3), k_end.push_back(k_begin.back() + c.keys[i]);
    }
    StoredMatrix q(GetParam(), {q_end.back() + 1, c.heads * c.size}), kv(GetParam(), {k_end.back() + 1, 2 * kv_width});
    const StoredMatrix y(GetParam(), q.tensor().shape);
    for (size_t i = 0; i < c.keys.size(); ++i) {
      q.fill_row(w, q_begin[i]);
      for (int64_t row = k_begin[i]; row < k_end[i]; ++row) kv.fill_row(w, row);
    }
    ops::attention_forward(w.ctx, {.q = q.tensor(),
                                   .k = kv.tensor().slice_cols(0, kv_width),
                                   .v = kv.tensor().slice_cols(kv_width, kv_width),
                                   .q_rows = {w.ints(q_begin), w.ints(q_end)},
                                   .k_rows = {w.ints(k_begin), w.ints(k_end)},
                                   .y = y.tensor(),
                                   .heads = c.heads,
                                   .kv_heads = c.kv_heads,
                                   .scale = kScale});
    std::vector<double> got, want;
    for (size_t i = 0; i < c.keys.size(); ++i)
      for (int64_t head = 0; head < c.heads; ++head) {
        const std::vector<double> expected = attended(c, q, kv, q_begin[i], k_begin[i], k_end[i], head);
        want.insert(want.end(), expected.begin(), expected.end());
        for (int64_t d = 0; d < c.size; ++d) got.push_back(y.at(q_begin[i], head * c.size + d));
      }
    // In half precision the result is rounded; tiles round factors, too.
    const double tolerance = GetParam() == DType::f32 ? 1e-6 : GetParam() == DType::bf16 ? 0x1p-8 : 0x1p-11;
    expect_close_in_norm(got, want, tolerance, 0, "y");
    for (size_t i = 0; i < c.keys.size(); ++i) EXPECT_EQ(y.at(query_row(i) - 1, 0), 0) << "an unused row";
  }

  static std::vector<double> attended(const QueryCase& c, const StoredMatrix& q, const StoredMatrix& kv, int64_t query,
                                      int64_t first, int64_t last, int64_t head) {
    const int64_t column = head / (c.heads / c.kv_heads) * c.size, value = c.kv_heads * c.size + column;
    std::vector<double> y(static_cast<size_t>(c.size));
    double sum = 0;
    for (int64_t key = first; key < last; ++key) {
      double score = 0;
      for (int64_t d = 0; d < c.size; ++d) score += q.at(query, head * c.size + d) * kv.at(key, column + d);
      const double weight = std::exp(static_cast<double>(kScale) * score);
      sum += weight;
      for (int64_t d = 0; d < c.size; ++d) y[static_cast<size_t>(d)] += weight * kv.at(key, value + d);
    }
    for (double& x : y) x /= sum;
    return y;
  }
};

INSTANTIATE_TEST_SUITE_P(Storage, OneQueryAttention, ::testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(OneQueryAttention, MatchesLoopsForEveryHeadSize) {
  for (const int64_t size : all_or_few<std::vector<int64_t>>({1, 8, 17, 31, 48, 64, 80, 96, 128}, {17, 64}))
    expect_right({.heads = 2, .kv_heads = 2, .size = size, .keys = {40, 17, 33}});
}

TEST_P(OneQueryAttention, MatchesLoopsForAnyNumberOfKeys) {
  for (const int32_t keys :
       all_or_few<std::vector<int32_t>>({1, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 100, 129, 200}, {17}))
    expect_right({.heads = 2, .kv_heads = 2, .size = 64, .keys = {keys, 1, keys + 5}});
}

TEST_P(OneQueryAttention, MatchesLoopsForGroupedHeads) {
  for (const int64_t kv_heads : {1, 2})
    for (const int64_t size : all_or_few<std::vector<int64_t>>({48, 64, 80, 96}, {48}))
      expect_right({.heads = 4, .kv_heads = kv_heads, .size = size, .keys = {21, 70, 3}});
}

}  // namespace
}  // namespace weft::testing
