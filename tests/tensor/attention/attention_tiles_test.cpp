// tests/tensor/attention/attention_tiles_test.cpp: bf16 and f16 attention compared with its definition in
// double, sentence by sentence, with matrix units (AMX, tensor cores) if the device has them.
//
// Matmul operands are rounded, so results are compared in norm: each rounding adds a relative error of about
// 2^-9 / sqrt(3) in bf16, and 2^-12 / sqrt(3) in f16, for any length, because the errors of a sum's terms
// grow like the sum of random terms itself.
#include <fmt/format.h>

#include "tensor/half.h"
#include "tests/support/sequence_ranges.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

using Ranges = SentenceRows;
double forward_tolerance(DType storage) { return storage == DType::bf16 ? 0x1p-8 : 0x1p-11; }
double backward_tolerance(DType storage) { return 2 * forward_tolerance(storage); }

struct TileCase {
  const char* name;
  int64_t heads, size;
  bool causal;
  Ranges q, k;
  float rate = 0;
  int64_t group = 1;  // heads for each head of keys

  int64_t kv_heads() const { return heads / group; }
};

// Sentences of one token, a tile minus one, a tile, and a tile plus one; unused rows around and between them.
const Ranges kSentences = {{1, 2}, {2, 31}, {33, 65}, {65, 98}, {100, 170}};

const std::vector<TileCase>& tile_cases() {
  static const std::vector<TileCase> all = {
      {"head size 64", 2, 64, false, kSentences, kSentences},
      {"causal", 2, 64, true, kSentences, kSentences},
      {"causal with dropout", 2, 64, true, kSentences, kSentences, 0.3f},
      {"dropout", 1, 32, false, kSentences, kSentences, 0.3f},
      {"head size 8", 3, 8, true, kSentences, kSentences, 0.1f},
      {"head size of a tile and a bit", 1, 17, false, kSentences, kSentences},
      {"head size 80", 2, 80, true, kSentences, kSentences},
      {"head size 128", 1, 128, false, kSentences, kSentences},
      {"cross, keys longer", 2, 24, false, {{0, 5}, {5, 21}}, {{0, 49}, {50, 170}}, 0.2f},
      {"cross, queries longer", 2, 64, false, {{0, 49}, {50, 170}}, {{0, 5}, {5, 21}}, 0.2f},
      {"long", 1, 16, true, {{0, 301}}, {{0, 301}}, 0.1f},
      {"two heads a head of keys, causal", 4, 24, true, kSentences, kSentences, 0.1f, 2},
      {"one head of keys, cross", 3, 64, false, {{0, 5}, {5, 49}}, {{0, 49}, {50, 98}}, 0, 3},
  };
  return all;
}

struct Halves {  // a half-precision matrix, NaN in rows without a sentence, and its values
  Buffer buffer;
  Tensor tensor;
  Halves(DType storage, Shape shape)
      : buffer(static_cast<size_t>(shape.numel()) * 2), tensor(buffer.tensor(shape, storage)) {
    std::memset(tensor.data, 0xFF, tensor.bytes());
  }
  void fill(Workspace& w, const Ranges& rows) {
    const Tensor x = w.random(tensor.shape);
    for (const auto& [begin, end] : rows)
      for (int64_t i = begin * tensor.row_stride; i < end * tensor.row_stride; ++i) set(i, x.ptr<float>()[i]);
  }
  void set(int64_t i, float x) {
    if (tensor.dtype == DType::bf16)
      tensor.ptr<BFloat16>()[i] = from_float<BFloat16>(x);
    else
      tensor.ptr<Float16>()[i] = from_float<Float16>(x);
  }
};

double value(const Tensor& t, int64_t row, int64_t col) {
  const int64_t i = row * t.row_stride + col;
  return t.dtype == DType::bf16 ? to_float(t.ptr<BFloat16>()[i]) : to_float(t.ptr<Float16>()[i]);
}

int64_t rows_of(const Ranges& ranges) { return ranges.back().second + 3; }

struct TileProblem {
  const TileCase& c;
  Workspace w;
  Halves q, kv, y, d_y, d_q, d_kv;
  Tensor lse;
  ops::SequenceRanges q_rows, k_rows;
  Dropout dropout;
  float scale;

  TileProblem(DType storage, const TileCase& of)
      : c(of),
        q(storage, {rows_of(c.q), c.heads * c.size}),
        kv(storage, {rows_of(c.k), 2 * c.kv_heads() * c.size}),
        y(storage, q.tensor.shape),
        d_y(storage, q.tensor.shape),
        d_q(storage, q.tensor.shape),
        d_kv(storage, kv.tensor.shape),
        lse(w.nans({c.heads, rows_of(c.q)})),
        q_rows(ranges(c.q)),
        k_rows(ranges(c.k)),
        dropout{
            .rate = c.rate, .seed = 5, .purpose = 1, .first = 7, .row_stride = rows_of(c.k), .scalars = &kTestScalars},
        scale(2.0f / std::sqrt(static_cast<float>(c.size))) {
    q.fill(w, c.q);
    kv.fill(w, c.k);
    d_y.fill(w, c.q);
  }
  int64_t kv_width() const { return c.kv_heads() * c.size; }
  Tensor k() const { return kv.tensor.slice_cols(0, kv_width()); }
  Tensor v() const { return kv.tensor.slice_cols(kv_width(), kv_width()); }
  Tensor d_k() const { return d_kv.tensor.slice_cols(0, kv_width()); }
  Tensor d_v() const { return d_kv.tensor.slice_cols(kv_width(), kv_width()); }

  ops::SequenceRanges ranges(const Ranges& ranges) {
    return sequence_ranges(ranges, rows_of(ranges), c.k, [&](const auto& values) { return w.ints(values); });
  }
  ops::AttentionForward forward_arguments() const {
    return {.q = q.tensor,
            .k = k(),
            .v = v(),
            .q_rows = q_rows,
            .k_rows = k_rows,
            .y = y.tensor,
            .lse = lse,
            .heads = c.heads,
            .kv_heads = c.kv_heads(),
            .causal = c.causal,
            .scale = scale,
            .dropout = dropout};
  }
  void forward() { ops::attention_forward(w.ctx, forward_arguments()); }
  void backward() {
    ops::attention_backward(w.ctx, {.q = q.tensor,
                                    .k = k(),
                                    .v = v(),
                                    .q_rows = q_rows,
                                    .k_rows = k_rows,
                                    .y = y.tensor,
                                    .lse = lse,
                                    .d_y = d_y.tensor,
                                    .d_q = d_q.tensor,
                                    .d_k = d_k(),
                                    .d_v = d_v(),
                                    .heads = c.heads,
                                    .kv_heads = c.kv_heads(),
                                    .causal = c.causal,
                                    .scale = scale,
                                    .dropout = dropout});
  }
};

Doubles head_of(const Tensor& t, std::pair<int32_t, int32_t> rows, int64_t col, int64_t size) {
  Doubles out;
  for (int64_t r = rows.first; r < rows.second; ++r)
    for (int64_t c = col; c < col + size; ++c) out.push_back(value(t, r, c));
  return out;
}

struct HeadReference {  // for a head of a sentence; d_k and d_v are this head's contributions
  Doubles lse, y, d_q, d_k, d_v;
};

HeadReference reference(const TileProblem& run, size_t sentence, int64_t head) {
  const auto q_rows = run.c.q[sentence], k_rows = run.c.k[sentence];
  const int64_t size = run.c.size, keys = k_rows.second - k_rows.first;
  const int64_t col = head * size, k_col = head / run.c.group * size;
  const Doubles q = head_of(run.q.tensor, q_rows, col, size), k = head_of(run.k(), k_rows, k_col, size),
                v = head_of(run.v(), k_rows, k_col, size), d_y = head_of(run.d_y.tensor, q_rows, col, size);
  const auto dot = [&](const Doubles& a, int64_t i, const Doubles& b, int64_t j) {
    double sum = 0;
    for (int64_t d = 0; d < size; ++d)
      sum += a[static_cast<size_t>(i * size + d)] * b[static_cast<size_t>(j * size + d)];
    return sum;
  };
  const auto add = [&](Doubles& to, int64_t i, double factor, const Doubles& from, int64_t j) {
    for (int64_t d = 0; d < size; ++d)
      to[static_cast<size_t>(i * size + d)] += factor * from[static_cast<size_t>(j * size + d)];
  };
  HeadReference r{{}, Doubles(q.size()), Doubles(q.size()), Doubles(k.size()), Doubles(k.size())};
  for (int64_t i = 0; i < q_rows.second - q_rows.first; ++i) {
    const int64_t visible = run.c.causal ? std::min(i + 1, keys) : keys;
    double sum = 0, delta = 0;
    Doubles p, factor, d_p;
    for (int64_t j = 0; j < visible; ++j) {
      p.push_back(std::exp(static_cast<double>(run.scale) * dot(q, i, k, j)));
      factor.push_back(dropout_factor(run.dropout, head * run.q.tensor.rows() + q_rows.first + i, k_rows.first + j));
      d_p.push_back(factor.back() * dot(d_y, i, v, j));
      sum += p.back();
    }
    r.lse.push_back(std::log(sum));
    for (size_t j = 0; j < p.size(); ++j) p[j] /= sum, delta += p[j] * d_p[j];
    for (size_t j = 0; j < p.size(); ++j) {
      const auto key = static_cast<int64_t>(j);
      const double d_s = static_cast<double>(run.scale) * p[j] * (d_p[j] - delta);
      add(r.y, i, p[j] * factor[j], v, key);
      add(r.d_v, key, p[j] * factor[j], d_y, i);
      add(r.d_q, i, d_s, k, key);
      add(r.d_k, key, d_s, q, i);
    }
  }
  return r;
}

class AttentionTiles : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Halves, AttentionTiles, ::testing::Values(DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(AttentionTiles, MatchTheDefinition) {
  for (const TileCase& c : tile_cases()) {
    SCOPED_TRACE(c.name);
    TileProblem run(GetParam(), c);
    run.forward();
    run.backward();
    for (size_t sentence = 0; sentence < c.q.size(); ++sentence) {
      Doubles d_k, d_v;
      for (int64_t head = 0; head < c.heads; ++head) {
        SCOPED_TRACE(fmt::format("sentence {} head {}", sentence, head));
        const HeadReference want = reference(run, sentence, head);
        const auto close = [&](const Tensor& got, int64_t at, const Ranges& rows, const Doubles& doubles, double tol,
                               const char* what) {
          // The gradient of a softmax over one key is only the rounding error of two terms, each as large as
          // other rows.
          expect_close_in_norm(head_of(got, rows[sentence], at * c.size, c.size), doubles, tol, 2, what);
        };
        close(run.y.tensor, head, c.q, want.y, forward_tolerance(GetParam()), "y");
        close(run.d_q.tensor, head, c.q, want.d_q, backward_tolerance(GetParam()), "d_q");
        if (head % c.group == 0) d_k.assign(want.d_k.size(), 0), d_v.assign(want.d_v.size(), 0);
        std::ranges::transform(d_k, want.d_k, d_k.begin(), std::plus());
        std::ranges::transform(d_v, want.d_v, d_v.begin(), std::plus());
        if ((head + 1) % c.group == 0) {
          close(run.d_k(), head / c.group, c.k, d_k, backward_tolerance(GetParam()), "d_k");
          close(run.d_v(), head / c.group, c.k, d_v, backward_tolerance(GetParam()), "d_v");
        }
        const float* lse = run.lse.ptr<float>() + head * run.lse.row_stride + c.q[sentence].first;
        for (size_t i = 0; i < want.lse.size(); ++i) EXPECT_NEAR(lse[i], want.lse[i], tolerance(c.size, 4)) << i;
      }
    }
  }
}

TEST_P(AttentionTiles, OfUnusedRowsAreZero) {
  TileProblem run(GetParam(), tile_cases()[0]);
  run.forward();
  run.backward();
  for (const Tensor& t : {run.y.tensor, run.d_q.tensor, run.d_k(), run.d_v()})
    for (int64_t row : {0, 31, 32, 98, 99, 170, 171, 172})
      for (int64_t col = 0; col < t.cols(); ++col) ASSERT_EQ(value(t, row, col), 0) << row << ", " << col;
}

TEST_P(AttentionTiles, WriteNothingBeside) {
  const TileCase inner{"one head of two", 1, 24, false, {{0, 20}}, {{0, 20}}};
  TileProblem run(GetParam(), inner);
  Halves wide(GetParam(), {23, 48});
  auto a = run.forward_arguments();
  a.y = wide.tensor.slice_cols(0, 24);
  ops::attention_forward(run.w.ctx, a);
  for (int64_t row = 0; row < 23; ++row)
    for (int64_t col = 24; col < 48; ++col) ASSERT_TRUE(std::isnan(value(wide.tensor, row, col))) << row << ", " << col;
}

TEST_P(AttentionTiles, OfASentenceDoNotDependOnItsPlace) {
  const TileCase early{"early", 2, 40, true, {{0, 45}}, {{0, 45}}},
      late{"late", 2, 40, true, {{0, 9}, {60, 105}}, {{0, 9}, {60, 105}}};
  TileProblem a(GetParam(), early), b(GetParam(), late);
  for (const auto& [from, to] : {std::pair{&a.q, &b.q}, {&a.kv, &b.kv}, {&a.d_y, &b.d_y}})
    std::memcpy(to->tensor.slice_rows(60, 45).data, from->tensor.data, from->tensor.slice_rows(0, 45).bytes());
  a.forward(), a.backward();
  b.forward(), b.backward();
  for (int head = 0; head < 2; ++head)
    for (int64_t row = 0; row < 45; ++row)
      EXPECT_EQ(a.lse.ptr<float>()[head * a.lse.row_stride + row],
                b.lse.ptr<float>()[head * b.lse.row_stride + 60 + row]);
  for (const auto& [x, y] : {std::pair{&a.y, &b.y}, {&a.d_q, &b.d_q}, {&a.d_kv, &b.d_kv}})
    EXPECT_EQ(std::memcmp(x->tensor.data, y->tensor.slice_rows(60, 45).data, x->tensor.slice_rows(0, 45).bytes()), 0);
}

// On a GPU sentences that fit into a piece have all gradients from one computation of their probabilities; pieces made
// for longer keys divide the same sentences among several.
TEST_P(AttentionTiles, AreTheSameHoweverTheWorkIsDivided) {
  for (const bool causal : {false, true}) {
    const TileCase c{"divided", 2, 40, causal, {{0, 45}, {47, 60}}, {{0, 45}, {47, 60}}, 0.2f};
    TileProblem run(GetParam(), c);
    run.forward(), run.backward();
    const Halves d_q(GetParam(), run.d_q.tensor.shape), d_kv(GetParam(), run.d_kv.tensor.shape);
    for (const auto& [to, from] : {std::pair{&d_q, &run.d_q}, {&d_kv, &run.d_kv}})
      std::memcpy(to->tensor.data, from->tensor.data, to->tensor.bytes());
    run.q_rows.pieces = run.w.ints(ops::attention_pieces({45, 13}, {70, 65}));
    run.backward();
    EXPECT_EQ(std::memcmp(d_q.tensor.data, run.d_q.tensor.data, d_q.tensor.bytes()), 0) << causal;
    EXPECT_EQ(std::memcmp(d_kv.tensor.data, run.d_kv.tensor.data, d_kv.tensor.bytes()), 0) << causal;
  }
}

TEST_P(AttentionTiles, OfOneQueryAtATimeAreTheCausalRows) {
  const TileCase causal{"causal", 2, 24, true, {{0, 50}}, {{0, 50}}};
  TileProblem run(GetParam(), causal);
  run.forward();
  for (int32_t row = 0; row < 50; ++row) {
    auto step = run.forward_arguments();
    const Halves y(GetParam(), {1, 48});
    step.causal = false;
    step.q = run.q.tensor.slice_rows(row, 1);
    step.y = y.tensor;
    step.lse = Tensor();
    step.q_rows = {run.w.ints({0}), run.w.ints({1})};
    step.k_rows = {run.w.ints({0}), run.w.ints({row + 1})};
    ops::attention_forward(run.w.ctx, step);
    SCOPED_TRACE(fmt::format("query {}", row));  // a processor without tiles adds in another order
    expect_close_in_norm(head_of(y.tensor, {0, 1}, 0, 48), head_of(run.y.tensor, {row, row + 1}, 0, 48),
                         forward_tolerance(GetParam()));
  }
}

TEST_P(AttentionTiles, AreTheSameOnAnyNumberOfThreads) {
  expect_same_on_any_threads([&](Workspace&) {
    TileProblem run(GetParam(), tile_cases()[2]);
    run.forward();
    run.backward();
    std::string bytes;
    for (const Halves* t : {&run.y, &run.d_q, &run.d_kv})
      bytes.append(static_cast<const char*>(t->tensor.data), t->tensor.bytes());
    return bytes;
  });
}

}  // namespace
}  // namespace weft::testing
