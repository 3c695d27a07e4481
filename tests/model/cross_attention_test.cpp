// tests/model/cross_attention_test.cpp: the attention of each choice of layer and head, on several grids.
#include <gtest/gtest.h>

#include <mutex>

#include "tests/support/compare.h"
#include "tests/support/small_model.h"

namespace weft::testing {
namespace {

using Ids = std::vector<int32_t>;

using Choice = Transformer::AttentionChoice;
using Weights = std::vector<float>;

Block three_sentences() {
  BlockBuilder builder(20, 20);
  builder.add(Ids{3, 4, 5, 6, 7}, Ids{8, 9});
  builder.add(Ids{10}, Ids{3, 3, 4, 5});
  builder.add(Ids{9, 8, 7}, Ids{6});
  return builder.finish(0);
}

Weights weights_of(SmallModel& m, const Choice& choice, const Block& block = three_sentences()) {
  Pass p = m.pass(0, /*training=*/false);
  const DeviceBatch batch = m.model->load(p, block);
  const Tensor y = m.arena.tensor({20, 6});
  m.model->cross_attention(p, batch, choice, y);
  return to_host<float>(m.ctx, y);
}

struct Alone {  // one rank's model: 2 layers of 4 heads
  std::unique_ptr<Communicator> world = make_single_communicator();
  SmallModel m{small_config(), *world, 5};

  // Scales a decoder layer's query projection of one head or all heads.
  void scale_queries(int layer, int head, float factor) {
    for (const char* part : {"weight", "bias"}) {  // [N, K, D], [N, K]
      const Tensor& q = m.params.find(fmt::format("decoder.{}.cross_attention.q.{}", layer, part))->value;
      const auto per_head = static_cast<size_t>(q.numel() / q.dim(0));
      change(m.ctx, q, [&](std::vector<float>& values) {
        for (size_t i = 0; i < values.size(); ++i)
          if (head < 0 || i / per_head == static_cast<size_t>(head)) values[i] *= factor;
      });
    }
  }
};

TEST(CrossAttention, RowsSumToOneOverTheirOwnSourceSentence) {
  Alone a;
  const Block block = three_sentences();
  for (const Choice& choice : {Choice{-1, -1}, Choice{1, -1}, Choice{-1, 3}, Choice{0, 2}}) {
    const Weights w = weights_of(a.m, choice);
    for (size_t row = 0; row < 20; ++row) {
      int64_t columns = 0;  // of the row's sentence; 0: an unused row
      for (size_t i = 0; i < 3; ++i)
        if (static_cast<int32_t>(row) >= block.target_offsets[i] &&
            static_cast<int32_t>(row) < block.target_offsets[i + 1])
          columns = block.source_offsets[i + 1] - block.source_offsets[i];
      double sum = 0;
      for (size_t col = 0; col < 6; ++col) {
        EXPECT_TRUE(static_cast<int64_t>(col) < columns || w[row * 6 + col] == 0) << row << ", " << col;
        sum += w[row * 6 + col];
      }
      EXPECT_NEAR(sum, columns > 0 ? 1 : 0, 1e-5) << row;
    }
  }
}

TEST(CrossAttention, IsUniformWhereTheQueriesAreNothing) {
  Alone a;
  a.scale_queries(1, /*head=*/-1, 0);
  const Weights w = weights_of(a.m, {.layer = 1});
  for (size_t col = 0; col < 6; ++col) EXPECT_NEAR(w[col], 1.0 / 6, 1e-6);
  EXPECT_NEAR(w[3 * 6], 1.0 / 2, 1e-6);  // the second sentence: a token and eos
}

TEST(CrossAttention, OfAChosenHeadIsThatHeadsOwn) {
  Alone a, changed;
  changed.scale_queries(1, /*head=*/2, 4);
  for (int64_t head = 0; head < 4; ++head)
    EXPECT_EQ(weights_of(a.m, {0, head}), weights_of(changed.m, {0, head})) << "layer 0 comes before the change";
  for (int64_t head : {0, 1, 3}) EXPECT_EQ(weights_of(a.m, {1, head}), weights_of(changed.m, {1, head})) << head;
  EXPECT_NE(weights_of(a.m, {1, 2}), weights_of(changed.m, {1, 2}));
}

TEST(CrossAttention, MeanIsTheMeanOfLayersAndHeads) {
  Alone a;
  std::vector<double> heads(120, 0), layers(120, 0), all(120, 0);
  for (int64_t layer = 0; layer < 2; ++layer)
    for (int64_t head = 0; head < 4; ++head) {
      const Weights w = weights_of(a.m, {layer, head});
      for (size_t i = 0; i < w.size(); ++i) {
        if (layer == 1) heads[i] += w[i] / 4.0;
        if (head == 3) layers[i] += w[i] / 2.0;
        all[i] += w[i] / 8.0;
      }
    }
  expect_close(weights_of(a.m, {.layer = 1}), heads, 1e-6, "mean of heads");
  expect_close(weights_of(a.m, {.head = 3}), layers, 1e-6, "mean of layers");
  expect_close(weights_of(a.m, {}), all, 1e-6, "mean of all");
}

TEST(CrossAttention, DoesNotSeeLaterTargetTokens) {
  Alone a;
  BlockBuilder builder(20, 20);
  builder.add(Ids{3, 4, 5, 6, 7}, Ids{8, 10});  // another last token
  builder.add(Ids{10}, Ids{3, 3, 4, 5});
  builder.add(Ids{9, 8, 7}, Ids{6});
  const Weights w = weights_of(a.m, {}), other = weights_of(a.m, {}, builder.finish(0));
  EXPECT_EQ(Weights(w.begin(), w.begin() + 12), Weights(other.begin(), other.begin() + 12));
  EXPECT_NE(Weights(w.begin() + 12, w.begin() + 18), Weights(other.begin() + 12, other.begin() + 18));
}

TEST(CrossAttention, IsTheSameOnTensorParallelRanks) {
  Alone a;
  for (const Choice& choice : {Choice{-1, -1}, Choice{1, 0}, Choice{0, 3}}) {
    const Weights alone = weights_of(a.m, choice);
    for (int tp : {2, 4}) {
      std::mutex mutex;
      std::vector<Weights> ranks;
      run_thread_ranks(tp, [&](Communicator& group) {
        SmallModel m(small_config(), group, 5);
        const Weights mine = weights_of(m, choice);
        const std::lock_guard<std::mutex> lock(mutex);
        ranks.push_back(mine);
      });
      for (const Weights& w : ranks) expect_close(w, alone, 2e-6);
    }
  }
}

}  // namespace
}  // namespace weft::testing
