// tests/model/toy_test.cpp: the toy example of tutorials: memorises two pairs of 12 tokens over 11 words and
// decodes them.
#include <gtest/gtest.h>

#include "model/decoding/beam_search.h"
#include "tests/support/small_model.h"
#include "tests/support/test_adam.h"

namespace weft::testing {
namespace {

using Sentence = std::vector<int32_t>;

TEST(Toy, TwoPairsAreLearnedByHeartAndDecodedBack) {
  ModelConfig config = small_config();  // 11 words, of which 3 are unk, bos and eos
  config.width = 32, config.feed_forward = 64;
  const Sentence sources[] = {{3, 4, 5, 6, 7, 8, 9, 10, 3, 5, 7, 9}, {10, 8, 6, 4, 3, 3, 9, 9, 5, 7, 4, 10}};
  const Sentence targets[] = {{9, 7, 5, 3, 10, 9, 8, 7, 6, 5, 4, 3}, {4, 4, 8, 8, 3, 10, 6, 5, 9, 7, 3, 6}};

  const auto world = make_single_communicator();
  SmallModel m(config, *world, 5);
  BlockBuilder builder(26, 26);
  for (int i = 0; i < 2; ++i) builder.add(sources[i], targets[i]);
  const Block block = builder.finish(0);
  TestAdam adam(m.params);
  double loss = 0;
  const float lr = all_or_few(2e-3f, 6e-3f);
  for (int64_t step = 1; step <= all_or_few(150, 50); ++step) {
    ops::fill(m.ctx, {.x = m.params.grads()});
    Pass p = m.pass(0, /*training=*/true, /*loss_scale=*/1.0 / 26);
    loss = sum_of(m.ctx, m.model->loss_and_gradients(p, m.model->load(p, block), {}, nullptr)).loss / 26;
    adam.step(m.ctx, lr);
  }
  EXPECT_LT(loss, 0.05);
  for (int beam : {1, 4}) {
    BeamSearch search({{m.ctx, *m.model, m.tp}}, {.beam = {.beam = beam}});
    const auto found =
        search.search({{.source = sources[0], .max_tokens = 20}, {.source = sources[1], .max_tokens = 20}});
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(found[i].front().tokens, targets[i]) << "beam " << beam;
  }
}

}  // namespace
}  // namespace weft::testing
