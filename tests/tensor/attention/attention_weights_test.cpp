// tests/tensor/attention/attention_weights_test.cpp: attention probabilities compared with their definition
// in double.
#include <limits>

#include "tensor/error.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

struct WeightsCase {
  int64_t q_rows = 12, k_rows = 15, heads = 4, head_size = 5, columns = 7;
  std::vector<int32_t> q_begin{1, 4, 4, 9}, q_end{4, 4, 9, 11}, k_begin{0, 6, 7, 15}, k_end{6, 7, 14, 15};
};

struct WeightsInputs {
  Workspace w;
  WeightsCase c;
  Tensor q, k, y;
  ops::AttentionWeights op;

  // Forward computes the log-sum-exp; its y is not used.
  explicit WeightsInputs(int64_t kv_heads = 0) {
    const int64_t width = c.heads * c.head_size, kv_width = (kv_heads > 0 ? kv_heads : c.heads) * c.head_size;
    q = w.random_slice(c.q_rows, width), k = w.random_slice(c.k_rows, kv_width), y = w.zeros({c.q_rows, c.columns});
    op = {.q = q,
          .k = k,
          .q_rows = {w.ints(c.q_begin), w.ints(c.q_end)},
          .k_rows = {w.ints(c.k_begin), w.ints(c.k_end)},
          .lse = w.nans({c.heads, c.q_rows}),
          .heads = c.heads,
          .kv_heads = kv_heads,
          .num_heads = c.heads,
          .scale = 1.3f,
          .y = y};
    ops::attention_forward(w.ctx, {.q = q,
                                   .k = k,
                                   .v = k,
                                   .q_rows = op.q_rows,
                                   .k_rows = op.k_rows,
                                   .y = w.nans({c.q_rows, width}),
                                   .lse = op.lse,
                                   .heads = c.heads,
                                   .kv_heads = kv_heads,
                                   .scale = op.scale});
  }

  Doubles softmax(int64_t first_head, int64_t num_heads, double factor) const {
    Doubles want(static_cast<size_t>(c.q_rows * c.columns), 0.0);
    const auto at = [](const Tensor& t, int64_t row, int64_t col) {
      return static_cast<double>(t.ptr<float>()[row * t.row_stride + col]);
    };
    for (size_t sentence = 0; sentence < c.q_begin.size(); ++sentence)
      for (int64_t i = c.q_begin[sentence]; i < c.q_end[sentence]; ++i)
        for (int64_t head = first_head; head < first_head + num_heads; ++head) {
          Doubles p;
          double sum = 0;
          for (int64_t j = c.k_begin[sentence]; j < c.k_end[sentence]; ++j) {
            double score = 0;
            const int64_t k_head = op.kv_heads > 0 ? head / (c.heads / op.kv_heads) : head;
            for (int64_t d = 0; d < c.head_size; ++d)
              score += at(q, i, head * c.head_size + d) * at(k, j, k_head * c.head_size + d);
            p.push_back(std::exp(1.3 * score));
            sum += p.back();
          }
          for (size_t j = 0; j < p.size(); ++j) want[static_cast<size_t>(i * c.columns) + j] += factor * p[j] / sum;
        }
    return want;
  }
};

TEST(AttentionWeights, AreTheSoftmaxOfEachHead) {
  for (int64_t kv_heads : {0, 1, 2}) {
    for (int64_t head = 0; head < 4; ++head) {
      WeightsInputs s(kv_heads);
      s.op.first_head = head, s.op.num_heads = 1;
      ops::attention_weights(s.w.ctx, s.op);
      expect_close(s.y, s.softmax(head, 1, 1), tolerance(s.c.head_size));
    }
  }
}

TEST(AttentionWeights, OfHeadsAreSummedAndAddedToWhatIsThere) {
  WeightsInputs s;
  s.op.factor = 0.25f;
  s.op.first_head = 1, s.op.num_heads = 2;
  std::fill_n(s.y.ptr<float>(), s.y.numel(), 0.5f);
  ops::attention_weights(s.w.ctx, s.op);
  Doubles want = s.softmax(1, 2, 0.25);
  for (double& x : want) x += 0.5;
  expect_close(s.y, want, tolerance(s.c.head_size));
}

TEST(AttentionWeights, OfNoHeadLeaveTheOutputAlone) {
  WeightsInputs s;
  s.op.num_heads = 0;
  ops::attention_weights(s.w.ctx, s.op);
  for (const float x : values(s.y)) EXPECT_EQ(x, 0);
}

TEST(AttentionWeights, RefuseHeadsThatAreNotThere) {
  WeightsInputs s;
  s.op.first_head = 1;
  EXPECT_THROW(ops::attention_weights(s.w.ctx, s.op), Error);
}

TEST(AttentionWeights, RefuseASentenceOfMoreKeysThanColumns) {
  WeightsInputs s;
  s.op.y = s.y.slice_cols(0, 6);
  EXPECT_THROW(ops::attention_weights(s.w.ctx, s.op), Error);
}

TEST(AttentionWeights, AreTheSameOnAnyNumberOfThreads) {
  expect_same_on_any_threads([](Workspace&) {
    WeightsInputs s;
    ops::attention_weights(s.w.ctx, s.op);
    return bytes_of(s.y);
  });
}

}  // namespace
}  // namespace weft::testing
