// tests/tensor/attention/attention_test.cpp: attention compared with loops and finite differences in double,
// for difficult ranges.
#include <limits>

#include "tensor/error.h"
#include "tests/support/sequence_ranges.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

using Ranges = SentenceRows;

struct Case {
  const char* name;
  int64_t q_rows, k_rows, heads, head_size;
  Ranges q, k;
  bool causal = false;
  bool dropout = false;
  int64_t kv_heads = 0;

  int64_t width() const { return heads * head_size; }
  int64_t group() const { return kv_heads > 0 ? heads / kv_heads : 1; }
  int64_t kv_width() const { return width() / group(); }
};

Ranges consecutive(int32_t count, int32_t rows) {
  Ranges ranges;
  for (int32_t i = 0; i < count; ++i) ranges.emplace_back(i * rows, (i + 1) * rows);
  return ranges;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"one token", 1, 1, 1, 1, {{0, 1}}, {{0, 1}}},
      {"self, unused rows around and between", 12, 12, 2, 3, {{1, 5}, {6, 10}}, {{1, 5}, {6, 10}}},
      {"many of one token",
       6,
       6,
       2,
       4,
       {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}},
       {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}}},
      {"causal", 9, 9, 1, 5, {{0, 7}, {7, 8}}, {{0, 7}, {7, 8}}, true},
      {"cross, keys longer", 5, 22, 2, 2, {{0, 2}, {2, 5}}, {{0, 18}, {19, 22}}, false, true},
      {"cross, queries longer", 7, 3, 1, 3, {{0, 6}}, {{1, 3}}},
      {"a sentence without keys, one without queries", 6, 5, 2, 2, {{0, 2}, {2, 2}, {3, 6}}, {{0, 0}, {0, 2}, {2, 5}}},
      {"causal with dropout over several tiles", 40, 40, 1, 2, {{1, 39}}, {{1, 39}}, true, true},
      {"head size of one vector and a bit", 4, 4, 1, 17, {{0, 4}}, {{0, 4}}, false, true},
      {"head size beyond two vectors", 3, 3, 1, 40, {{0, 3}}, {{0, 3}}},
      {"heads of one column, unused rows at the end", 8, 8, 3, 1, {{0, 3}, {3, 5}}, {{0, 3}, {3, 5}}, true, true},
      {"no sentence", 3, 2, 1, 2, {}, {}},
      {"more sentences than a GPU's warp has lanes", 70, 70, 1, 2, consecutive(35, 2), consecutive(35, 2)},
      {"scattered keys", 3, 30, 2, 3, {{0, 1}, {1, 2}, {2, 3}}, {{20, 28}, {0, 3}, {10, 15}}},
      {"as many heads of keys", 5, 5, 3, 2, {{0, 5}}, {{0, 5}}, false, false, 3},
      {"two heads a head of keys", 9, 9, 4, 3, {{1, 7}, {7, 8}}, {{1, 7}, {7, 8}}, true, true, 2},
      {"one head of keys, several tiles", 36, 36, 3, 2, {{0, 34}}, {{0, 34}}, true, true, 1},
      {"one head of keys, cross", 6, 20, 2, 17, {{0, 2}, {2, 2}, {3, 6}}, {{0, 0}, {0, 2}, {2, 19}}, false, true, 1},
  };
  return all;
}

struct Inputs {
  Workspace w;
  Tensor q, k, v, y, lse, d_y;
  ops::SequenceRanges q_rows, k_rows;
  Dropout dropout;
  float scale;

  explicit Inputs(const Case& c) : scale(0.8f) {
    q = w.random_slice(c.q_rows, c.width());
    const Tensor fused = w.random({c.k_rows, 2 * c.kv_width()});
    k = fused.slice_cols(0, c.kv_width());
    v = fused.slice_cols(c.kv_width(), c.kv_width());
    y = w.nan_slice(c.q_rows, c.width());
    lse = w.nans({c.heads, c.q_rows});
    d_y = w.random_slice(c.q_rows, c.width());
    const auto ints = [&](const auto& values) { return w.ints(values); };
    q_rows = sequence_ranges(c.q, c.q_rows, c.k, ints);
    k_rows = sequence_ranges(c.k, c.k_rows, c.k, ints);
    if (c.dropout)
      dropout = {.rate = 0.4f, .seed = 5, .purpose = 1, .first = 7, .row_stride = c.k_rows, .scalars = &kTestScalars};
  }
  ops::AttentionForward forward(const Case& c) const {
    return {.q = q,
            .k = k,
            .v = v,
            .q_rows = q_rows,
            .k_rows = k_rows,
            .y = y,
            .lse = lse,
            .heads = c.heads,
            .kv_heads = c.kv_heads,
            .causal = c.causal,
            .scale = scale,
            .dropout = dropout};
  }
  ops::AttentionBackward backward(const Case& c, const Tensor& d_q, const Tensor& d_k, const Tensor& d_v) const {
    return {.q = q,
            .k = k,
            .v = v,
            .q_rows = q_rows,
            .k_rows = k_rows,
            .y = y,
            .lse = lse,
            .d_y = d_y,
            .d_q = d_q,
            .d_k = d_k,
            .d_v = d_v,
            .heads = c.heads,
            .kv_heads = c.kv_heads,
            .causal = c.causal,
            .scale = scale,
            .dropout = dropout};
  }
};

Doubles reference(const Case& c, const Inputs& s, const Doubles& q, const Doubles& k, const Doubles& v) {
  Doubles y(static_cast<size_t>(c.q_rows * c.width()), 0.0);
  for (size_t sentence = 0; sentence < c.q.size(); ++sentence) {
    const auto [q_begin, q_end] = c.q[sentence];
    const auto [k_begin, k_end] = c.k[sentence];
    for (int64_t head = 0; head < c.heads; ++head) {
      const int64_t kv_head = head / c.group();
      const auto of_query = [&](int64_t i, int64_t d) {
        return static_cast<size_t>(i * c.width() + head * c.head_size + d);
      };
      const auto of_key = [&](int64_t j, int64_t d) {
        return static_cast<size_t>(j * c.kv_width() + kv_head * c.head_size + d);
      };
      for (int64_t i = q_begin; i < q_end; ++i) {
        const int64_t end = c.causal ? std::min<int64_t>(k_end, k_begin + i - q_begin + 1) : k_end;
        double sum = 0;
        Doubles p;
        for (int64_t j = k_begin; j < end; ++j) {
          double score = 0;
          for (int64_t d = 0; d < c.head_size; ++d) score += q[of_query(i, d)] * k[of_key(j, d)];
          p.push_back(std::exp(s.scale * score));
          sum += p.back();
        }
        for (int64_t j = k_begin; j < end; ++j) {
          const double weight =
              p[static_cast<size_t>(j - k_begin)] / sum * dropout_factor(s.dropout, head * c.q_rows + i, j);
          for (int64_t d = 0; d < c.head_size; ++d) y[of_query(i, d)] += weight * v[of_key(j, d)];
        }
      }
    }
  }
  return y;
}

TEST(Attention, ForwardMatchesLoops) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    Inputs s(c);
    ops::attention_forward(s.w.ctx, s.forward(c));
    expect_close(s.y, reference(c, s, to_doubles(s.q), to_doubles(s.k), to_doubles(s.v)), tolerance(c.head_size), "y");
    const std::vector<float> with_lse = values(s.y);
    auto inference = s.forward(c);
    inference.lse = Tensor();
    ops::attention_forward(s.w.ctx, inference);
    EXPECT_EQ(values(s.y), with_lse) << "without lse";
  }
}

TEST(Attention, BackwardMatchesFiniteDifferences) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    Inputs s(c);
    ops::attention_forward(s.w.ctx, s.forward(c));
    const Tensor d_q = s.w.nan_slice(c.q_rows, c.width()), d_kv = s.w.nans({c.k_rows, 2 * c.kv_width()});
    const Tensor d_k = d_kv.slice_cols(0, c.kv_width()), d_v = d_kv.slice_cols(c.kv_width(), c.kv_width());
    ops::attention_backward(s.w.ctx, s.backward(c, d_q, d_k, d_v));
    const Doubles q = to_doubles(s.q), k = to_doubles(s.k), v = to_doubles(s.v), g = to_doubles(s.d_y);
    const auto loss = [&](const Doubles& a, const Doubles& b, const Doubles& e) {
      return weighted_sum(reference(c, s, a, b, e), g);
    };
    const double tol = tolerance(c.head_size + c.k_rows);
    const auto close = [&](const Tensor& got, const Doubles& want, const char* what) {
      const bool zero = std::all_of(want.begin(), want.end(), [](double x) { return std::abs(x) < 1e-8; });
      if (zero) {  // a softmax over one key has no gradient
        for (float x : values(got)) EXPECT_NEAR(x, 0.0f, 1e-6) << what;
      } else {
        expect_close(got, want, tol, what);
      }
    };
    close(d_q, numerical_gradient([&](const Doubles& x) { return loss(x, k, v); }, q), "d_q");
    close(d_k, numerical_gradient([&](const Doubles& x) { return loss(q, x, v); }, k), "d_k");
    close(d_v, numerical_gradient([&](const Doubles& x) { return loss(q, k, x); }, v), "d_v");
  }
}

TEST(Attention, IgnoresTheContentOfUnusedRows) {
  const Case c = cases()[1];
  Inputs s(c);
  ops::attention_forward(s.w.ctx, s.forward(c));
  const std::vector<float> want = values(s.y);
  for (const Tensor& t : {s.q, s.k, s.v}) {
    for (int64_t row : {0, 5, 10, 11}) {
      for (int64_t col = 0; col < 6; ++col) t.ptr<float>()[row * t.row_stride + col] = std::nanf("");
    }
  }
  ops::attention_forward(s.w.ctx, s.forward(c));
  EXPECT_EQ(values(s.y), want);
  for (int64_t row : {0, 5, 10, 11}) EXPECT_EQ(s.y.ptr<float>()[row * s.y.row_stride], 0.0f);
}

TEST(Attention, SavesLogSumExpOfScaledScores) {
  const Case c{"two keys", 1, 2, 1, 1, {{0, 1}}, {{0, 2}}};
  Inputs s(c);
  ops::attention_forward(s.w.ctx, s.forward(c));
  const double q = *s.q.ptr<float>(), k0 = s.k.ptr<float>()[0], k1 = s.k.ptr<float>()[2];
  EXPECT_NEAR(*s.lse.ptr<float>(), std::log(std::exp(0.8 * q * k0) + std::exp(0.8 * q * k1)), 1e-6);
}

TEST(Attention, SurvivesHugeScores) {
  Workspace w;
  const Tensor q = w.filled({1, 2}, 100), k = w.random({3, 2}, 100), y = w.nans({1, 2});
  const ops::SequenceRanges one{w.ints({0}), w.ints({1})}, three{w.ints({0}), w.ints({3})};
  ops::attention_forward(w.ctx, {.q = q, .k = k, .v = k, .q_rows = one, .k_rows = three, .y = y});
  for (float x : values(y)) EXPECT_TRUE(std::isfinite(x));
}

TEST(Attention, OfASentenceDoesNotDependOnItsNeighbours) {
  const Case pair{"pair", 30, 30, 2, 8, {{0, 10}, {10, 30}}, {{0, 10}, {10, 30}}};
  const Case alone{"alone", 30, 30, 2, 8, {{0, 10}}, {{0, 10}}};
  Inputs a(pair), b(alone);
  ops::attention_forward(a.w.ctx, a.forward(pair));
  ops::attention_forward(b.w.ctx, b.forward(alone));
  EXPECT_EQ(bytes_of(a.y.slice_rows(0, 10)), bytes_of(b.y.slice_rows(0, 10)));
}

TEST(Attention, OneQueryAtATimeIsTheCausalRow) {
  Case causal{"causal", 9, 9, 2, 8, {{0, 9}}, {{0, 9}}, true};
  Inputs s(causal);
  ops::attention_forward(s.w.ctx, s.forward(causal));
  const std::vector<float> want = values(s.y);
  for (int32_t row = 0; row < 9; ++row) {
    auto step = s.forward(causal);
    const Tensor y = s.w.nans({1, 16});
    step.causal = false;
    step.q = s.q.slice_rows(row, 1);
    step.y = y;
    step.lse = Tensor();
    step.q_rows = {s.w.ints({0}), s.w.ints({1})};
    step.k_rows = {s.w.ints({0}), s.w.ints({row + 1})};
    ops::attention_forward(s.w.ctx, step);
    SCOPED_TRACE(fmt::format("query {}", row));
    expect_close(values(y), std::vector<float>(want.begin() + row * 16, want.begin() + (row + 1) * 16), tolerance(8));
  }
}

TEST(Attention, IsTheSameOnAnyNumberOfThreads) {
  const Ranges sentences{{0, 120}, {120, 121}, {122, 358}};
  for (int64_t kv_heads : {4, 2}) {
    const Case c{"threads", 360, 360, 4, 8, sentences, sentences, true, true, kv_heads};
    expect_same_on_any_threads([&](Workspace&) {
      Inputs s(c);
      ops::attention_forward(s.w.ctx, s.forward(c));
      const Tensor d_q = s.w.nans({360, 32}), d_k = s.w.nans(s.k.shape), d_v = s.w.nans(s.v.shape);
      ops::attention_backward(s.w.ctx, s.backward(c, d_q, d_k, d_v));
      return bytes_of(s.y) + bytes_of(d_q) + bytes_of(d_k) + bytes_of(d_v);
    });
  }
}

TEST(Attention, RefusesHeadsOfKeysThatDoNotDivideTheHeads) {
  Case c = cases()[1];
  c.heads = 4;
  for (int64_t kv_heads : {-1, 3, 8}) {
    Inputs s(c);
    auto a = s.forward(c);
    a.kv_heads = kv_heads;
    try {
      ops::attention_forward(s.w.ctx, a);
      ADD_FAILURE() << "attended with " << kv_heads;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("is not divisible by the number of heads of k and v"), std::string::npos)
          << e.what();
    }
  }
}

}  // namespace
}  // namespace weft::testing
