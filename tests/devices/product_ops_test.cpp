// tests/devices/product_ops_test.cpp: GEMMs, sums, look-ups, losses and decoding ops.
#include "tests/devices/op_comparison.h"

namespace weft::testing {
namespace {

void compare_gemm(RandomArguments& r, OpComparison& devices) {
  const int64_t m = r.rows(), n = r.cols(), k = r.one_of<int64_t>({1, 8, 31, 64, 300});
  const Tensor c = r.matrix(m, n, r.coin() ? DType::f32 : r.storage), bias = r.maybe(r.floats({n}));
  weft::ops::Gemm gemm{.c = c, .trans_a = r.coin(), .trans_b = r.coin(), .bias = bias, .accumulate = r.coin()};
  gemm.a = gemm.trans_a ? r.matrix(k, m) : r.matrix(m, k);
  gemm.b = gemm.trans_b ? r.matrix(n, k) : r.matrix(k, n);
  if (!gemm.accumulate && r.coin())
    gemm.epilogue = {.kind = weft::ops::Epilogue::Kind::activate, .activation = r.one_of_enum<Activation>()};
  else if (gemm.trans_a && c.dtype == DType::f32 && bias.empty())
    gemm.d_bias = r.floats({m});
  // A GPU may round the bias (below 1), the input of an activation, and the product before a bias and an activation to
  // c's type.
  const bool activates = gemm.epilogue.kind != weft::ops::Epilogue::Kind::none;
  const double bias_rounding = bias.empty() ? 0 : unit_of(c.dtype) * (activates ? 0.75 : 0.25);
  devices.expect_same(weft::ops::gemm, gemm, {.sums = tolerance(k) + bias_rounding, .units = activates ? 2.0 : 1.0});
}

void compare_column_sum(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.one_of<int64_t>({1, 5, 70, 700});
  devices.expect_same(weft::ops::column_sum, r.complete(weft::ops::ColumnSum{.x = r.matrix(rows, r.cols())}),
                      {.sums = 2 * tolerance(rows)});  // either may be off by one: they add in different orders
}

void compare_sum(RandomArguments& r, OpComparison& devices) {
  devices.expect_same(weft::ops::sum, {.x = r.floats({r.one_of<int64_t>({1, 33, 5000})}), .y = r.doubles(5)},
                      {.sums = 1e-11});
}

void compare_sum_squares(RandomArguments& r, OpComparison& devices) {
  devices.expect_same(weft::ops::sum_squares, {.x = r.floats({r.one_of<int64_t>({1, 33, 5000})}), .y = r.doubles(5)},
                      {.sums = 1e-11});
}

void compare_embedding_forward(RandomArguments& r, OpComparison& devices) {
  const int64_t vocabulary = r.one_of<int64_t>({1, 40}), rows = r.rows(), cols = r.cols(), first = r.from(0, 5);
  devices.expect_same(weft::ops::embedding_forward, {.ids = r.ids(rows, -1, first + vocabulary + 2),
                                                     .table = r.matrix(vocabulary, cols),
                                                     .first_id = first,
                                                     .scale = 3,
                                                     .y = r.matrix(rows, cols),
                                                     .cut = r.dropout(/*row_stride=*/1)});
}

void compare_embedding_backward(RandomArguments& r, OpComparison& devices) {
  const int64_t vocabulary = r.one_of<int64_t>({1, 40}), cols = r.cols(), first = r.from(0, 5);
  const int64_t rows = r.one_of<int64_t>({1, 33, 300, 1500});
  devices.expect_same(weft::ops::embedding_backward,
                      {.sorted = r.sorted_ids(rows, -1, first + vocabulary + 2),
                       .d_y = r.matrix(rows, cols),
                       .first_id = first,
                       .scale = 3,
                       .d_table = r.floats({vocabulary, cols}),
                       .cut = r.dropout(/*row_stride=*/1)},
                      {.sums = tolerance(rows, 3)});
}

void compare_add_positions(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols();
  auto a = r.complete(
      weft::ops::AddPositions{.positions = r.ids(rows, 0, 8), .table = r.floats({9, cols}), .y = r.matrix(rows, cols)});
  if (a.x.dtype == r.storage && r.coin()) a.y = a.x;
  devices.expect_same(weft::ops::add_positions, a, {.dropped_alike = true});
}

void compare_rotary(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), heads = r.from(1, 4), size = 2 * r.one_of<int64_t>({1, 3, 8, 32});
  weft::ops::Rotary a = r.complete(weft::ops::Rotary{.x = r.matrix(rows, heads * size),
                                                     .positions = r.ids(rows, 0, 8),
                                                     .table = r.floats({9, size}),
                                                     .heads = heads,
                                                     .halves = r.coin(),
                                                     .inverse = r.coin()});
  if (r.coin()) a.y = a.x;
  devices.expect_same(weft::ops::rotary, a);
}

void compare_softmax_stats(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols(), first = r.from(0, 9);
  devices.expect_same(weft::ops::softmax_stats,
                      {.logits = r.matrix(rows, cols, r.storage, 4),
                       .targets = r.maybe(r.ids(rows, -1, first + cols + 3)),
                       .first_id = first,
                       .valid = r.from(0, cols),
                       .stats = r.floats({rows, 4})},
                      {.sums = tolerance(cols, 4)});
}

void compare_cross_entropy(RandomArguments& r, OpComparison& devices) {
  const bool at_once = r.coin(), backward = r.coin();
  const int64_t rows = r.rows(), cols = r.cols(), valid = r.from(1, cols), first = at_once ? 0 : r.from(0, 1) * cols;
  const Tensor logits = r.matrix(rows, cols, r.storage, 4), targets = r.ids(rows, -1, first + valid - 1);
  const Tensor stats = r.floats({1, rows, 4});
  weft::ops::softmax_stats(
      devices.cpu(),
      {.logits = logits, .targets = targets, .first_id = first, .valid = valid, .stats = stats.with_shape({rows, 4})});
  devices.expect_same(weft::ops::cross_entropy,
                      {.logits = logits,
                       .targets = targets,
                       .weights = r.coin() ? r.floats({rows}) : Tensor{},
                       .stats = at_once ? Tensor{} : stats,
                       .first_id = first,
                       .valid = valid,
                       .vocabulary = first + valid + (at_once ? 0 : r.from(0, 3)),
                       .smoothing = r.coin() ? 0.1f : 0.0f,
                       .backward = backward,
                       .scalars = backward ? r.scalars() : nullptr,
                       .loss = r.floats({rows}),
                       .nll = r.floats({rows})},
                      {.sums = tolerance(cols, 4)});
}

// Logits of two passes. The row's other columns, if first_id > 0, are on another rank.
weft::ops::ConsistencyStats random_logit_pair(RandomArguments& r) {
  const int64_t rows = r.rows(), cols = r.cols(), valid = r.from(1, cols), first = r.from(0, 1) * cols;
  return {.logits_p = r.matrix(rows, cols, r.storage, 4),
          .logits_q = r.matrix(rows, cols, r.storage, 4),
          .targets = r.ids(rows, -1, first + valid - 1),
          .first_id = first,
          .valid = valid,
          .stats = r.floats({rows, weft::ops::kPairStats})};
}

void compare_consistency_stats(RandomArguments& r, OpComparison& devices) {
  const weft::ops::ConsistencyStats a = random_logit_pair(r);
  devices.expect_same(weft::ops::consistency_stats, a, {.sums = tolerance(a.valid, 32)});
}

void compare_consistency_loss(RandomArguments& r, OpComparison& devices) {
  const weft::ops::ConsistencyStats of_row = random_logit_pair(r);
  const int64_t rows = of_row.logits_p.rows();
  weft::ops::consistency_stats(devices.cpu(), of_row);
  devices.expect_same(weft::ops::consistency_loss,
                      {.logits_p = of_row.logits_p,
                       .logits_q = of_row.logits_q,
                       .targets = of_row.targets,
                       .weights = r.coin() ? r.floats({rows}) : Tensor{},
                       .stats = of_row.stats.with_shape({1, rows, weft::ops::kPairStats}),
                       .first_id = of_row.first_id,
                       .valid = of_row.valid,
                       .vocabulary = of_row.first_id + of_row.valid + r.from(0, 3),
                       .smoothing = r.coin() ? 0.1f : 0.0f,
                       .factors = {.entropy_p = 0.75f, .entropy_q = 0.25f, .divergence_p = 2, .divergence_q = 0.5f},
                       .scalars = r.scalars(),
                       .loss = r.floats({rows}),
                       .nll = r.floats({rows}),
                       .divergence = r.floats({rows})},
                      {.sums = tolerance(of_row.valid, 32)});
}

void compare_gather_rows(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols(), picked = r.rows();
  devices.expect_same(weft::ops::gather_rows,
                      {.x = r.matrix(rows, cols), .rows = r.ids(picked, 0, rows - 1), .y = r.matrix(picked, cols)},
                      {.sums = 0, .units = 0});
}

void compare_scatter_rows(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols(), first = r.from(0, 3);
  std::vector<int32_t> to;  // distinct, backwards
  for (int64_t i = rows; i > 0; --i) to.push_back(static_cast<int32_t>(first + i));
  devices.expect_same(weft::ops::scatter_rows,
                      {.x = r.matrix(rows, cols), .rows = r.ints(to), .y = r.matrix(first + rows + 2, cols)},
                      {.sums = 0, .units = 0});
}

void compare_top_k(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols(), k = r.from(1, 8), valid = r.from(k, cols);
  const Tensor x = r.matrix(rows, cols, DType::f16, 8),
               coarse = r.matrix(rows, cols);  // f16 of size 8: ties are common
  weft::ops::cast(devices.cpu(), {.x = x, .y = coarse});
  const bool rules = r.coin();
  devices.expect_same(weft::ops::top_k,
                      {.x = coarse,
                       .valid = valid,
                       .values = r.floats({rows, k}),
                       .columns = r.ids(rows * k, 0, 0).with_shape({rows, k}),
                       .classes = rules ? r.ids(cols, 0, 3) : Tensor(),
                       .allowed = rules ? r.ids(rows, 0, 15) : Tensor()},
                      {.sums = 0, .units = 0});
}

constexpr OpCase kProductCases[] = {
    {"gemm", compare_gemm},
    {"column_sum", compare_column_sum},
    {"sum", compare_sum},
    {"sum_squares", compare_sum_squares},
    {"embedding_forward", compare_embedding_forward},
    {"embedding_backward", compare_embedding_backward},
    {"add_positions", compare_add_positions},
    {"rotary", compare_rotary},
    {"softmax_stats", compare_softmax_stats},
    {"cross_entropy", compare_cross_entropy},
    {"consistency_stats", compare_consistency_stats},
    {"consistency_loss", compare_consistency_loss},
    {"gather_rows", compare_gather_rows},
    {"scatter_rows", compare_scatter_rows},
    {"top_k", compare_top_k},
};

class ProductOps : public ::testing::TestWithParam<OpCase> {};
TEST_P(ProductOps, AreTheSameOnBothDevices) { compare_on_many_arguments(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Random, ProductOps, ::testing::ValuesIn(kProductCases), name_of);

}  // namespace
}  // namespace weft::testing
