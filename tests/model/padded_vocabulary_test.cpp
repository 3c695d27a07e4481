// tests/model/padded_vocabulary_test.cpp: the padding of a vocabulary that tp does not divide is never
// predicted and has no probability, for any values in its table rows.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/decoding/beam_search.h"
#include "tests/support/small_model.h"

namespace weft::testing {
namespace {

struct PaddedCase {
  int tp;
  int64_t vocabulary;
};

struct PaddedResult {
  BlockLoss loss;
  std::map<std::string, std::vector<float>> gradients;
  std::vector<double> probabilities;  // of each vocabulary entry as the first token
  std::vector<std::vector<Hypothesis>> translations;
  int64_t padding_columns = 0;  // of all ranks
};

ModelConfig padded_config(int64_t vocabulary) {
  ModelConfig c = small_config();
  c.width = 24, c.heads = 12, c.feed_forward = 24, c.bias_output = true;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  return c;
}

// Fills this rank's padding rows in the table and the output bias; returns their number.
int64_t plant(SmallModel& m, float value) {
  const VocabularyRange range = m.model->output().range(m.tp);
  for (const char* name : {"embedding.weight", "output.bias"}) {
    const Tensor rows = m.params.find(name)->value;
    ops::fill(m.ctx, {.x = rows.slice_rows(range.valid, range.columns - range.valid), .value = value});
  }
  return range.columns - range.valid;
}

double gradient_in_padding(SmallModel& m) {
  const VocabularyRange range = m.model->output().range(m.tp);
  double sum = 0;
  for (const char* name : {"embedding.weight", "output.bias"}) {
    const Tensor rows = m.params.find(name)->grad;
    for (float x : to_host<float>(m.ctx, rows.slice_rows(range.valid, range.columns - range.valid))) sum += std::abs(x);
  }
  return sum;
}

std::vector<double> first_piece_probabilities(SmallModel& m, int64_t vocabulary) {
  BlockBuilder builder(3 * vocabulary, 2 * vocabulary);
  for (int32_t id = 0; id < vocabulary; ++id) builder.add(std::vector{3, 4}, std::vector{id});
  const Block block = builder.finish(0);
  Pass p = m.pass(0, false);
  const std::vector<float> nll = to_host<float>(m.ctx, m.model->loss(p, m.model->load(p, block), /*smoothing=*/0).nll);
  std::vector<double> probabilities;
  for (int64_t id = 0; id < vocabulary; ++id)
    probabilities.push_back(std::exp(-nll[static_cast<size_t>(block.target_offsets[static_cast<size_t>(id)])]));
  return probabilities;
}

PaddedResult run(const PaddedCase& c, float planted) {
  PaddedResult result;
  const ModelConfig config = padded_config(c.vocabulary);
  const Block block = random_blocks(config, 1, 30, 34, 8, 2).front();
  run_thread_ranks(c.tp, [&](Communicator& tp) {
    set_num_threads(1);
    SmallModel m(config, tp, 5, /*arena_bytes=*/8 << 20);
    const auto columns = tp.sum(static_cast<double>(plant(m, planted)));
    Pass p = m.pass();
    ops::fill(m.ctx, {.x = m.params.grads()});
    const BlockLoss loss =
        sum_of(m.ctx, m.model->loss_and_gradients(p, m.model->load(p, block), {.smoothing = 0.1}, nullptr));
    EXPECT_EQ(gradient_in_padding(m), 0) << "rank " << tp.rank();
    auto gradients = gather(m.ctx, m.params, tp, true);
    auto probabilities = first_piece_probabilities(m, c.vocabulary);
    BeamSearch search({{m.ctx, *m.model, m.tp}}, {.beam = {.beam = 3, .nbest = 3}});
    auto translations = search.search({{{3, 4, 5}, 8}, {{6}, 5}, {{7, 7, 8, 3, 3, 4}, all_or_few(12, 8)}});
    if (tp.rank() == 0)
      result = {loss, std::move(gradients), std::move(probabilities), std::move(translations),
                static_cast<int64_t>(columns)};
  });
  return result;
}

class PaddedVocabulary : public ::testing::TestWithParam<PaddedCase> {};

TEST_P(PaddedVocabulary, IsNeverPredictedAndHasNoProbability) {
  const PaddedResult clean = run(GetParam(), 0), planted = run(GetParam(), 1e6f);
  ASSERT_GT(clean.padding_columns, 0) << "this case pads nothing";
  EXPECT_EQ(planted.loss.loss, clean.loss.loss);
  EXPECT_EQ(planted.loss.nll, clean.loss.nll);
  EXPECT_EQ(planted.gradients, clean.gradients);
  EXPECT_EQ(planted.probabilities, clean.probabilities);
  double sum = 0;
  for (double probability : clean.probabilities) sum += probability;
  EXPECT_NEAR(sum, 1, 1e-5);
  ASSERT_EQ(planted.translations.size(), clean.translations.size());
  for (size_t i = 0; i < clean.translations.size(); ++i) {
    ASSERT_EQ(planted.translations[i].size(), clean.translations[i].size());
    for (size_t k = 0; k < clean.translations[i].size(); ++k) {
      const Hypothesis &got = planted.translations[i][k], &want = clean.translations[i][k];
      EXPECT_EQ(got.tokens, want.tokens);
      EXPECT_EQ(got.score, want.score);
      for (int32_t piece : got.tokens) EXPECT_LT(piece, GetParam().vocabulary);
    }
  }
}

// 9 entries on 4 ranks: three each, and the last rank has only padding.
INSTANTIATE_TEST_SUITE_P(Ranks, PaddedVocabulary,
                         ::testing::Values(PaddedCase{2, 17}, PaddedCase{3, 17}, PaddedCase{4, 17}, PaddedCase{4, 9}),
                         [](const auto& info) {
                           return fmt::format("{}_entries_on_{}_ranks", info.param.vocabulary, info.param.tp);
                         });

}  // namespace
}  // namespace weft::testing
