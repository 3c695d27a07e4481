// tests/model/decoding/search_fixture.h: small models that decode, and what their whole decoder says without cache.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>

#include "model/decoding/beam_search.h"
#include "tests/support/device_group.h"

namespace weft::testing {

using Tokens = std::vector<int32_t>;
using Results = std::vector<std::vector<Hypothesis>>;
struct SearchingModel {
  using Change = void (*)(ModelConfig&);
  explicit SearchingModel(
      Communicator& group, int64_t vocabulary = 23, int64_t max_positions = 300, Change change = [](ModelConfig&) {},
      uint64_t seed = 7)
      : device_group(ctx, group),
        tp(*device_group),
        params(group.rank(), group.size(), DType::f32, ctx.device()),
        model(config(vocabulary, change, group.size()), params, max_positions) {
    params.allocate();
    params.initialize(ctx, seed);
    testing::change(ctx, params.values(), [](std::vector<float>& values) {
      for (float& x : values) x *= 2;  // larger than initial values, for clearly different predictions
    });
  }
  static ModelConfig config(int64_t vocabulary, Change change, int64_t tp) {
    ModelConfig c{.width = 24, .heads = 2, .feed_forward = 40, .encoder_layers = 2, .decoder_layers = 2};
    c.bias_output = true;
    c.source_vocabulary = c.target_vocabulary = vocabulary;
    change(c);
    c.resolve(tp);
    return c;
  }
  SearchModel parts() { return {.ctx = ctx, .model = model, .tp = tp}; }
  Results search(const std::vector<BeamRequest>& requests, const BeamOptions& options, int64_t side_by_side = 0) {
    return BeamSearch({parts()}, {.beam = options}, {}, side_by_side).search(requests);
  }
  // Log probability of each token of each target and of its eos, given the source, by the whole decoder
  // without cache.
  std::vector<std::vector<double>> rows(const Tokens& source, const std::vector<Tokens>& targets) {
    int64_t target_rows = 0;
    for (const Tokens& t : targets) target_rows += static_cast<int64_t>(t.size()) + 1;
    BlockBuilder builder((static_cast<int64_t>(source.size()) + 1) * static_cast<int64_t>(targets.size()), target_rows);
    for (const Tokens& t : targets) builder.add(source, t);
    const Block block = builder.finish(0);
    Pass p{.ctx = ctx, .arena = arena, .tp = tp};
    const std::vector<float> nll = to_host<float>(ctx, model.loss(p, model.load(p, block), /*smoothing=*/0).nll);
    std::vector<std::vector<double>> rows(targets.size());
    for (size_t i = 0; i < targets.size(); ++i)
      for (int32_t row = block.target_offsets[i]; row < block.target_offsets[i + 1]; ++row)
        rows[i].push_back(-static_cast<double>(nll[static_cast<size_t>(row)]));
    return rows;
  }
  std::vector<double> log_probs(const Tokens& source, const std::vector<Tokens>& targets) {
    std::vector<double> sums;
    for (const std::vector<double>& of_rows : rows(source, targets))
      sums.push_back(std::accumulate(of_rows.begin(), of_rows.end(), 0.0));
    return sums;
  }
  double log_prob(const Tokens& source, const Tokens& target) { return log_probs(source, {target})[0]; }

  Context ctx{test_device()};
  Arena arena{size_t{32} << 20, test_device()};
  DeviceGroup device_group;
  TensorParallel tp;
  ParamStore params;
  Transformer model;
};

class SearchTest : public ::testing::Test {
 protected:
  void SetUp() override { set_num_threads(1); }  // the models are small
  void TearDown() override { set_num_threads(num_threads_); }
  std::unique_ptr<Communicator> alone_ = make_single_communicator();
  int num_threads_ = num_threads();
};

inline std::vector<BeamRequest> random_requests(int64_t count, int64_t vocabulary, int64_t longest = 20,
                                                uint32_t seed = 3) {
  std::mt19937 random(seed);
  std::vector<BeamRequest> requests;
  for (int64_t i = 0; i < count; ++i) {
    Tokens source(1 + random() % static_cast<uint32_t>(longest));
    for (int32_t& id : source) id = static_cast<int32_t>(3 + random() % static_cast<uint32_t>(vocabulary - 3));
    requests.push_back({.source = source, .max_tokens = static_cast<int64_t>(source.size()) + 5});
  }
  return requests;
}

inline void expect_same_bits(const Results& a, const Results& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    for (size_t k = 0; k < a[i].size(); ++k) {
      EXPECT_EQ(a[i][k].tokens, b[i][k].tokens) << "sentence " << i;
      EXPECT_EQ(a[i][k].log_prob, b[i][k].log_prob) << "sentence " << i;
      EXPECT_EQ(a[i][k].score, b[i][k].score) << "sentence " << i;
    }
  }
}

}  // namespace weft::testing
