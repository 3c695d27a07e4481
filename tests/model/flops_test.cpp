// tests/model/flops_test.cpp: operations per token, compared with a list of all matrix products and with
// published sums.
#include "model/flops.h"

#include <gtest/gtest.h>

namespace weft::testing {
namespace {

ModelConfig shape_of(int64_t width, int64_t feed_forward, int64_t layers, int64_t vocabulary) {
  ModelConfig c;
  c.width = width, c.feed_forward = feed_forward;
  c.encoder_layers = c.decoder_layers = layers;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  return c;
}

// [m, k] x [k, n]
double product(double m, double k, double n) { return 2 * m * k * n; }

TEST(Flops, OfASentencePairAreItsMatrixProducts) {
  const ModelConfig c{.width = 6,
                      .heads = 2,
                      .feed_forward = 10,
                      .encoder_layers = 2,
                      .decoder_layers = 3,
                      .source_vocabulary = 31,
                      .target_vocabulary = 17};
  constexpr double kSource = 5, kTarget = 4, kHead = 3;
  double source = 0, target = 0;
  for (int layer = 0; layer < 2; ++layer) {
    source += product(kSource, 6, 3 * 6) + product(kSource, 6, 6);  // queries, keys and values; out
    source += 2 * (product(kSource, kHead, kSource) + product(kSource, kSource, kHead));  // scores, values: two heads
    source += product(kSource, 6, 10) + product(kSource, 10, 6);
  }
  for (int layer = 0; layer < 3; ++layer) {
    target += product(kTarget, 6, 3 * 6) + product(kTarget, 6, 6);
    for (int query = 1; query <= 4; ++query) target += 2 * (product(1, kHead, query) + product(1, query, kHead));
    target += product(kTarget, 6, 6) + product(kTarget, 6, 6);  // queries; out
    source += product(kSource, 6, 2 * 6);                       // keys and values
    target += 2 * (product(kTarget, kHead, kSource) + product(kTarget, kSource, kHead));
    target += product(kTarget, 6, 10) + product(kTarget, 10, 6);
  }
  target += product(kTarget, 6, 17);
  const TokenFlops flops = forward_flops(c, kSource, kTarget);
  EXPECT_DOUBLE_EQ(flops.source * kSource, source);
  EXPECT_DOUBLE_EQ(flops.target * kTarget, target);
}

// Million operations per pair of tokens in a training step of the paper's models, for sentences of 30 tokens.
TEST(Flops, OfThePapersModelsAreTheKnownNumbers) {
  const auto millions = [](const ModelConfig& c) { return (forward_flops(c, 30, 30) * kTrainingPasses).pair() / 1e6; };
  EXPECT_NEAR(millions(shape_of(512, 2048, 6, 37'000)), 380.7, 0.1);
  EXPECT_NEAR(millions(shape_of(512, 2048, 6, 32'768)), 367.7, 0.1);
  EXPECT_NEAR(millions(shape_of(1024, 4096, 6, 37'000)), 1289.8, 0.1);
}

TEST(Flops, OfMatricesAloneAreTwiceTheirParameters) {
  const double without_attention = forward_flops(shape_of(512, 2048, 6, 8000), 0, -1).pair();
  EXPECT_DOUBLE_EQ(without_attention, 2.0 * (6 * (12 * 512 * 512 + 4 * 512 * 2048) + 512 * 8000));
  EXPECT_NEAR(without_attention * kTrainingPasses / 1e6, 288.8, 0.05);
}

}  // namespace
}  // namespace weft::testing
