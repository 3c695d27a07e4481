// tests/trainer/inference/decoding_invariance_test.cpp: a translation and its score are a function of the sentence
// alone.
//
// A model is trained briefly to reverse sentences, so that its predictions are neither noise nor certain.
// Then sentences of 1 to 200 tokens are translated in different batches. Results must be equal bit for bit;
// over tp ranks, which sum in another order, up to rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <random>

#include "tests/support/test_adam.h"
#include "tests/support/translate.h"
#include "tests/trainer/inference/translation_fixture.h"
#include "trainer/inference/translator.h"

namespace weft::testing {
namespace {

using Tokens = std::vector<int32_t>;
using Values = std::map<std::string, std::vector<float>>;  // by parameter, global layout

constexpr int64_t kPositions = 260;

Tokens random_tokens(size_t length, std::mt19937& random) {
  Tokens tokens(length);
  for (int32_t& id : tokens) id = static_cast<int32_t>(10 + random() % 12);
  return tokens;
}

ModelConfig model_config(int64_t vocabulary) {
  ModelConfig c = small_model_config(vocabulary);
  c.width = 32, c.heads = 4, c.feed_forward = 64, c.encoder_layers = c.decoder_layers = 2;
  c.norm = NormPosition::pre, c.final_norm = true;
  return c;
}

// Trains on the CPU for 150 steps of Adam on blocks of new sentences of 1 to 12 tokens, with the reversed source as
// target.
Values train_to_turn_around(int64_t vocabulary) {
  Values trained;
  const auto alone = make_single_communicator();
  const Mesh mesh(*alone, {.dp = 1, .tp = 1});
  RandomModel m(model_config(vocabulary), mesh, kPositions);
  m.params.initialize(m.ctx, /*seed=*/3);
  TestAdam adam(m.params);
  const DeviceScalars scalars(Device::cpu);
  scalars.set(m.ctx, {.loss_scale = 1.0f / 256});
  std::mt19937 random(1);
  Arena arena(size_t{64} << 20);
  for (int64_t step = 1; step <= 150; ++step) {
    BlockBuilder builder(256, 256);
    for (int64_t rows = 0;;) {
      const Tokens source = random_tokens(1 + random() % 12, random);
      rows += static_cast<int64_t>(source.size()) + 1;
      if (rows > 256) break;
      builder.add(source, Tokens(source.rbegin(), source.rend()));
    }
    ops::fill(m.ctx, {.x = m.params.grads()});
    Pass p{.ctx = m.ctx, .arena = arena, .tp = m.tp, .scalars = scalars.get()};
    m.model.loss_and_gradients(p, m.model.load(p, builder.finish(0)), {.smoothing = 0.1}, nullptr);
    adam.step(m.ctx, 3e-3f);
  }
  for (const Param& p : m.params.params()) trained[p.spec.name] = to_host<float>(m.ctx, p.value);
  return trained;
}

// Lengths 1 to 200 in random order: many short, some long.
std::vector<Tokens> sentences() {
  std::mt19937 random(2);
  std::vector<Tokens> all;
  if (on_emulated_device()) {
    for (const size_t length : {5, 1, 8, 2, 9, 3}) all.push_back(random_tokens(length, random));
    return all;
  }
  for (size_t length = 1; length <= 40; ++length) all.push_back(random_tokens(length, random));
  for (const size_t length : {60, 90, 120, 127, 128, 129, 150, 199, 200}) all.push_back(random_tokens(length, random));
  for (int i = 0; i < 15; ++i) all.push_back(random_tokens(1 + random() % 8, random));
  std::shuffle(all.begin(), all.end(), random);
  return all;
}

class DecodingInvariance : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    tokenizer_ = new Tokenizer(write_tokenizer(*folder_ / "tokenizer.model"));
    trained_ = new Values(train_to_turn_around(tokenizer_->size()));
  }
  static void TearDownTestSuite() {
    delete trained_;
    delete tokenizer_;
    delete folder_;
  }

  struct Way {  // a way to translate the same sentences
    int dp = 1, tp = 1;
    int64_t batch = 0;
    int threads = 1;
    DType compute = DType::f32;
    ParamUse use = ParamUse::training;  // inference: as in `weft translate`
  };
  static std::vector<NBest> translate(const std::vector<Tokens>& sources, const DecodeConfig& config, const Way& way) {
    std::vector<NBest> result;
    run_thread_ranks(way.dp * way.tp, [&](Communicator& world) {
      set_num_threads(way.threads);
      const Mesh mesh(world, {.dp = way.dp, .tp = way.tp}, test_rank(world));
      RandomModel m(model_config(tokenizer_->size()), mesh, kPositions, way.compute, way.use);
      for (const Param& p : m.params.params()) {
        std::vector<float> local(static_cast<size_t>(p.numel()));
        slice_from_global(p, trained_->at(p.spec.name).data(), local.data());
        put(m.ctx, local, p.value);
      }
      m.params.round_values(m.ctx);
      Translator translator(m.replica, *tokenizer_, *tokenizer_, config, way.batch);
      const std::vector<NBest> found = translate_tokens(translator, sources);
      if (world.rank() == 0) result = found;
    });
    return result;
  }

  static void expect_same_bits(const std::vector<NBest>& a, const std::vector<NBest>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].size(), b[i].size()) << "sentence " << i;
      for (size_t k = 0; k < a[i].size(); ++k) {
        EXPECT_EQ(a[i][k].text, b[i][k].text) << "sentence " << i << ", entry " << k;
        EXPECT_EQ(a[i][k].score, b[i][k].score) << "sentence " << i << ", entry " << k;
        EXPECT_EQ(a[i][k].log_prob, b[i][k].log_prob) << "sentence " << i << ", entry " << k;
      }
    }
  }

  static void expect_invariance(DType compute, ParamUse use);

  static TemporaryFolder* folder_;
  static Tokenizer* tokenizer_;
  static Values* trained_;
};
TemporaryFolder* DecodingInvariance::folder_ = nullptr;
Tokenizer* DecodingInvariance::tokenizer_ = nullptr;
Values* DecodingInvariance::trained_ = nullptr;

DecodeConfig decode(int64_t beam, int64_t nbest, double penalty) {
  return {.beam = beam, .length_penalty = penalty, .max_length_factor = 1, .max_length_extra = 5, .nbest = nbest};
}

// Beams 1, 4 and 8, n-best lists, length penalties.
void for_each_way_to_search(const std::function<void(const DecodeConfig&)>& body) {
  const std::vector<DecodeConfig> all{decode(1, 1, 0.6), decode(4, 1, 0), decode(4, 4, 0.6), decode(8, 8, 1.0),
                                      decode(8, 2, -0.5)};
  for (const DecodeConfig& config : all_or_few(all, {decode(4, 4, 0.6)})) {
    SCOPED_TRACE(fmt::format("beam {}, nbest {}, length penalty {}", config.beam, config.nbest, config.length_penalty));
    body(config);
  }
}

TEST_F(DecodingInvariance, HoldsForEveryBatchSize) {
  for_each_way_to_search([](const DecodeConfig& config) {
    const std::vector<Tokens> sources = sentences();
    const std::vector<NBest> full = translate(sources, config, {});
    for (const int64_t batch : {1, 3, 7}) {
      SCOPED_TRACE(fmt::format("batch {}", batch));
      expect_same_bits(translate(sources, config, {.batch = batch}), full);
    }
  });
}

TEST_F(DecodingInvariance, HoldsForEveryOrder) {
  for_each_way_to_search([](const DecodeConfig& config) {
    const std::vector<Tokens> sources = sentences();
    const std::vector<NBest> expected = translate(sources, config, {});
    std::vector<size_t> order(sources.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937(4));
    std::vector<Tokens> shuffled;
    for (const size_t i : order) shuffled.push_back(sources[i]);
    const std::vector<NBest> found = translate(shuffled, config, {});
    std::vector<NBest> back(sources.size());
    for (size_t i = 0; i < order.size(); ++i) back[order[i]] = found[i];
    expect_same_bits(back, expected);
  });
}

TEST_F(DecodingInvariance, HoldsInEveryCompany) {
  for_each_way_to_search([](const DecodeConfig& config) {
    const std::vector<Tokens> sources = sentences();
    const std::vector<NBest> all = translate(sources, config, {});
    for (size_t i = 0; i + 1 < sources.size(); i += 7) {
      SCOPED_TRACE(fmt::format("sentence {} of {} tokens", i, sources[i].size()));
      expect_same_bits(translate({sources[i]}, config, {}), {all[i]});
      expect_same_bits(translate({sources[i + 1], sources[i]}, config, {}), {all[i + 1], all[i]});
    }
  });
}

TEST_F(DecodingInvariance, HoldsOnEveryNumberOfDataParallelRanksAndThreads) {
  for_each_way_to_search([](const DecodeConfig& config) {
    const std::vector<Tokens> sources = sentences();
    const std::vector<NBest> one = translate(sources, config, {});
    expect_same_bits(translate(sources, config, {.dp = 2}), one);
    expect_same_bits(translate(sources, config, {.dp = 3}), one);
    expect_same_bits(translate(sources, config, {.threads = 2}), one);
  });
}

void DecodingInvariance::expect_invariance(DType compute, ParamUse use) {
  for_each_way_to_search([&](const DecodeConfig& config) {
    const std::vector<Tokens> sources = sentences();
    const auto found = [&](const std::vector<Tokens>& some, Way way) {
      way.compute = compute, way.use = use;
      return translate(some, config, way);
    };
    const std::vector<NBest> all = found(sources, {});
    expect_same_bits(found(sources, {.batch = 3}), all);
    expect_same_bits(found(sources, {.dp = 2}), all);
    expect_same_bits(found(sources, {.threads = 3}), all);
    expect_same_bits(found(sources, {.batch = 5, .threads = 2}), all);
    for (size_t i = 0; i + 1 < sources.size(); i += 13)
      expect_same_bits(found({sources[i + 1], sources[i]}, {}), {all[i + 1], all[i]});
  });
}

TEST_F(DecodingInvariance, HoldsForInferenceInF32) { expect_invariance(DType::f32, ParamUse::inference); }
TEST_F(DecodingInvariance, HoldsForInferenceInBf16) { expect_invariance(DType::bf16, ParamUse::inference); }
TEST_F(DecodingInvariance, HoldsForInferenceInInt8) { expect_invariance(DType::f32, ParamUse::int8_inference); }

// The model is wide, because oneDNN adds a product of few terms in the same order as the copies do.
TEST_F(DecodingInvariance, HoldsBetweenInferenceAndValidationInEveryPrecision) {
  ModelConfig wide = model_config(tokenizer_->size());
  wide.feed_forward = 1024;
  const std::vector<Tokens> sources = {{12, 15, 11}, {20, 13}, {10, 19, 18, 17, 16}};
  const auto found = [&](DType compute, ParamUse use) {
    const auto alone = make_single_communicator();
    const Mesh mesh(*alone, {.dp = 1, .tp = 1}, test_rank(*alone));
    RandomModel m(wide, mesh, kPositions, compute, use);
    m.params.initialize(m.ctx, /*seed=*/3);
    Translator translator(m.replica, *tokenizer_, *tokenizer_, decode(4, 4, 0.6));
    std::optional<InferenceCopies> copies;  // as in the validation of a run
    if (use == ParamUse::training) copies.emplace(m.ctx, m.params);
    return translate_tokens(translator, sources);
  };
  for (const DType compute : {DType::f32, DType::bf16}) {
    SCOPED_TRACE(name_of(compute));
    expect_same_bits(found(compute, ParamUse::training), found(compute, ParamUse::inference));
  }
}

TEST_F(DecodingInvariance, HoldsToRoundingOverTensorParallelRanksAndWithoutInferenceCopies) {
  const DecodeConfig config = decode(4, 4, 0.6);
  const std::vector<Tokens> sources = sentences();
  const std::vector<NBest> one = translate(sources, config, {});
  for (const int tp : {1, 2}) {
    const std::vector<NBest> other = translate(sources, config, {.tp = tp, .use = ParamUse::inference});
    for (size_t i = 0; i < sources.size(); ++i) {
      EXPECT_EQ(other[i][0].text, one[i][0].text) << "sentence " << i;
      for (size_t k = 0; k < one[i].size(); ++k)
        EXPECT_NEAR(other[i][k].score, one[i][k].score, 1e-5 * (1 + std::abs(one[i][k].score))) << "sentence " << i;
    }
  }
}

TEST_F(DecodingInvariance, HoldsToRoundingOnTensorParallelRanks) {
  for_each_way_to_search([](const DecodeConfig& config) {
    const std::vector<Tokens> sources = sentences();
    const std::vector<NBest> one = translate(sources, config, {}), two = translate(sources, config, {.tp = 2});
    for (size_t i = 0; i < sources.size(); ++i) {
      EXPECT_EQ(two[i][0].text, one[i][0].text) << "sentence " << i;
      for (size_t k = 0; k < one[i].size(); ++k)
        EXPECT_NEAR(two[i][k].score, one[i][k].score, 1e-5 * (1 + std::abs(one[i][k].score))) << "sentence " << i;
    }
  });
}

TEST_F(DecodingInvariance, IsTestedOnAModelThatHasLearned) {
  std::mt19937 random(9);
  int right = 0;
  std::vector<Tokens> sources;
  for (int i = 0; i < 40; ++i) sources.push_back(random_tokens(1 + random() % 6, random));
  const std::vector<NBest> found = translate(sources, decode(4, 1, 0.6), {});
  for (size_t i = 0; i < sources.size(); ++i)
    right += found[i][0].text == tokenizer_->decode(Tokens(sources[i].rbegin(), sources[i].rend()));
  EXPECT_GE(right, 10);  // of 40; an untrained model has none
  EXPECT_LT(right, 40);  // and certain it is not
}

}  // namespace
}  // namespace weft::testing
