// tests/model/sequence_test.cpp: the collectives of a step with and without sequence parallelism.
#include <gtest/gtest.h>

#include "tests/support/small_model.h"

namespace weft::testing {
namespace {

struct Counts {
  int64_t all_reduce = 0, all_gather = 0, reduce_scatter = 0;
  // Elements of their whole tensors. An all-reduce counts twice: it is a reduce-scatter and an all-gather.
  int64_t elements = 0;
};

class CountingCommunicator final : public Communicator {
 public:
  explicit CountingCommunicator(Communicator& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void all_reduce(const Tensor& x, ReduceOp op) override {
    ++counts.all_reduce, counts.elements += 2 * x.numel();
    inner_.all_reduce(x, op);
  }
  std::unique_ptr<PendingWork> start_all_reduce(const Tensor& x) override { return inner_.start_all_reduce(x); }
  void all_gather(const Tensor& x, const Tensor& y) override {
    ++counts.all_gather, counts.elements += y.numel();
    inner_.all_gather(x, y);
  }
  void reduce_scatter(const Tensor& x, const Tensor& y) override {
    ++counts.reduce_scatter, counts.elements += x.numel();
    inner_.reduce_scatter(x, y);
  }
  std::unique_ptr<PendingWork> start_all_gather(const Tensor& x, const Tensor& y) override {
    return inner_.start_all_gather(x, y);
  }
  std::unique_ptr<PendingWork> start_reduce_scatter(const Tensor& x, const Tensor& y) override {
    return inner_.start_reduce_scatter(x, y);
  }
  std::unique_ptr<PendingWork> start_all_to_all(const Tensor& x, const Tensor& y) override {
    return inner_.start_all_to_all(x, y);
  }
  void broadcast(const Tensor& x, int root) override { inner_.broadcast(x, root); }
  void barrier() override { inner_.barrier(); }
  std::unique_ptr<Communicator> split(int color, int key) override { return inner_.split(color, key); }

  Counts counts;

 private:
  Communicator& inner_;
};

constexpr int64_t kRows = 20, kEncoderBlocks = 3, kDecoderBlocks = 2;
constexpr int64_t kSublayers = 2 * kEncoderBlocks + 3 * kDecoderBlocks;

ModelConfig counted_model() {
  ModelConfig c = small_config();
  c.encoder_layers = kEncoderBlocks, c.decoder_layers = kDecoderBlocks, c.final_norm = true;
  return c;
}

// Counts the calls of one rank in the last block of a step or in another one.
Counts counts_of_step(bool sequence, bool last) {
  Counts counts;
  run_thread_ranks(2, [&](Communicator& world) {
    CountingCommunicator counting(world);
    SmallModel m(counted_model(), counting, /*seed=*/1);
    const auto alone = make_single_communicator();
    const DeviceGroup dp(m.ctx, *alone);
    GradSync sync(m.ctx, *dp, m.params.grads(), Shard::of_rank(m.params.matrix_numel(), *dp, /*zero=*/false));
    sync.begin();
    Pass p = m.pass();
    p.sequence = sequence;
    const std::vector<Block> blocks = random_blocks(counted_model(), /*count=*/1, kRows, kRows, 6, /*seed=*/1);
    counting.counts = {};
    m.model->loss_and_gradients(p, m.model->load(p, blocks.front()), {.smoothing = 0.1}, last ? &sync : nullptr);
    if (world.rank() == 0) counts = counting.counts;
    sync.wait();
  });
  return counts;
}

constexpr int64_t kStatistics = 2 * kRows * 4;  // of the logits' rows on two ranks

// Forward: both embeddings and the output of each sublayer. Backward: the inputs of sublayers and of the output
// projection, and the encoder output.
TEST(Sequence, WithoutItSumsAreAllReduced) {
  const int64_t sums = 2 * kSublayers + 4;
  for (const bool last : {false, true}) {
    const Counts c = counts_of_step(/*sequence=*/false, last);
    EXPECT_EQ(c.all_reduce, sums);
    EXPECT_EQ(c.reduce_scatter, 0);
    EXPECT_EQ(c.all_gather, 1);  // statistics
    EXPECT_EQ(c.elements, 2 * sums * kRows * counted_model().width + kStatistics);
  }
}

// Gathered, besides statistics: each sublayer's input, that of the output projection and the encoder output; backward
// again these inputs, and the gradients of the sublayers' outputs and of both embeddings.
TEST(Sequence, ReduceScattersEachSumAndGathersInputs) {
  const int64_t sums = 2 * kSublayers + 4, gathered = 3 * kSublayers + 5;
  const Counts c = counts_of_step(/*sequence=*/true, /*last=*/false);
  EXPECT_EQ(c.all_reduce, 0);
  EXPECT_EQ(c.reduce_scatter, sums);
  EXPECT_EQ(c.all_gather, gathered + 1);
  EXPECT_EQ(c.elements, (sums + gathered) * kRows * counted_model().width + kStatistics);
}

// They lie together.
TEST(Sequence, SumsGradientsOfNormsAndBiasesOnceInAStep) {
  const Counts last = counts_of_step(/*sequence=*/true, /*last=*/true), other = counts_of_step(true, false);
  EXPECT_EQ(last.all_reduce, 1);
  EXPECT_EQ(last.all_gather, other.all_gather);
  EXPECT_EQ(last.reduce_scatter, other.reduce_scatter);
}

}  // namespace
}  // namespace weft::testing
