// tests/model/learned_positions_test.cpp: a learned table for each side: declaration, use, and rows with a
// gradient.
#include <gtest/gtest.h>

#include "tests/support/small_model.h"

namespace weft::testing {
namespace {

using Ids = std::vector<int32_t>;

ModelConfig learned_config(int64_t max_positions) {
  ModelConfig c = small_config();
  c.positions = Positions::learned, c.max_positions = max_positions;
  return c;
}

const Param& side(const SmallModel& m, const char* name) {
  const Param* p = m.params.find(fmt::format("{}_positions.weight", name));
  EXPECT_NE(p, nullptr) << name;
  return *p;
}

double loss_of_step(SmallModel& m, const Block& block) {
  ops::fill(m.ctx, {.x = m.params.grads()});
  Pass p = m.pass();
  return sum_of(m.ctx, m.model->loss_and_gradients(p, m.model->load(p, block), {.smoothing = 0.1}, nullptr)).loss;
}

double norm_of_row(SmallModel& m, const Tensor& table, int64_t row) {
  double sum = 0;
  for (float x : to_host<float>(m.ctx, table.slice_rows(row, 1))) sum += std::pow(x, 2);
  return std::sqrt(sum);
}

TEST(LearnedPositions, AreTwoWholeTablesOfTheirOwnSize) {
  run_thread_ranks(2, [](Communicator& tp) {
    SmallModel m(learned_config(9), tp, 5);
    EXPECT_EQ(side(m, "source").value.shape, (Shape{9, 12}));
    EXPECT_EQ(side(m, "target").value.shape, (Shape{9, 12}));
    EXPECT_EQ(m.model->max_positions(), 9);
  });
}

TEST(LearnedPositions, StartAsNormalVariatesThatDifferBetweenTheSides) {
  const auto alone = make_single_communicator();
  SmallModel m(learned_config(400), *alone, 5);
  const std::vector<float> source = to_host<float>(m.ctx, side(m, "source").value),
                           target = to_host<float>(m.ctx, side(m, "target").value);
  double sum = 0, squares = 0, product = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    const double x = source[i], y = target[i];
    sum += x, squares += x * x, product += x * y;
  }
  const auto n = static_cast<double>(source.size());
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 1.0 / 12, 0.005);
  EXPECT_NEAR(product / n, 0, 0.005);
}

TEST(LearnedPositions, GetAGradientInEachRowThatASentenceReachesAndInNoOther) {
  const auto alone = make_single_communicator();
  SmallModel m(learned_config(9), *alone, 5);
  BlockBuilder builder(20, 20);
  builder.add(Ids{3, 4, 5}, Ids{6, 7, 8, 9, 3});
  builder.add(Ids{8, 9}, Ids{3});
  loss_of_step(m, builder.finish(0));
  for (int64_t row = 0; row < 9; ++row) {
    EXPECT_EQ(norm_of_row(m, side(m, "source").grad, row) > 0, row < 4) << row;
    EXPECT_EQ(norm_of_row(m, side(m, "target").grad, row) > 0, row < 6) << row;
  }
}

TEST(LearnedPositions, TakeNothingFromUnusedRows) {
  const auto alone = make_single_communicator();
  const auto run = [&](int64_t rows) {
    SmallModel m(learned_config(9), *alone, 5);
    BlockBuilder builder(rows, rows);
    builder.add(Ids{3, 4, 5}, Ids{6, 7});
    loss_of_step(m, builder.finish(0));
    return std::pair{gather(m.ctx, m.params, *alone, true).at("source_positions.weight"),
                     gather(m.ctx, m.params, *alone, true).at("target_positions.weight")};
  };
  const auto full = run(4), padded = run(40);
  EXPECT_LT(relative_error(padded.first, full.first), 1e-6);
  EXPECT_LT(relative_error(padded.second, full.second), 1e-6);
}

TEST(LearnedPositions, EqualSinusoidsWhenTheyHoldTheSameNumbers) {
  const auto alone = make_single_communicator();
  ModelConfig sinusoids = learned_config(0);
  sinusoids.positions = Positions::halves;
  const Block block = random_blocks(sinusoids, 1, 30, 34, 8, 2).front();
  SmallModel fixed(sinusoids, *alone, 5), learned(learned_config(9), *alone, 5);
  std::vector<float> sinusoids_of_rows;
  for (int64_t row = 0; row < 9; ++row)
    for (int64_t col = 0; col < 12; ++col)
      sinusoids_of_rows.push_back(static_cast<float>(sinusoid(PositionLayout::halves, row, col, 12)));
  for (const char* name : {"source", "target"}) put(learned.ctx, sinusoids_of_rows, side(learned, name).value);
  EXPECT_EQ(loss_of_step(learned, block), loss_of_step(fixed, block));
}

}  // namespace
}  // namespace weft::testing
