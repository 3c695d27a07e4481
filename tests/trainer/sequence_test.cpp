// tests/trainer/sequence_test.cpp: sequence parallelism divides the memory of what is computed row by row.
#include <gtest/gtest.h>

#include "tests/support/device.h"
#include "trainer/step/dry_step.h"

namespace weft::testing {
namespace {

// Activations of the base model of the paper.
size_t activations(int tp, bool sequence) {
  RunConfig c;
  c.model.source_vocabulary = c.model.target_vocabulary = 8000;
  c.model.resolve(tp);
  c.batch.rows = c.batch.source_rows = 4096;
  c.parallel.sequence = sequence;
  c.train.precision = Precision::bf16;
  size_t bytes = 0;
  run_thread_ranks(tp, [&](Communicator& group) {
    Context dry(test_device(), /*dry_run=*/true);
    if (group.is_main_rank()) bytes = arena_bytes(c, TensorParallel(group), dry);
  });
  return bytes;
}

// Without it, a rank of tp has W + S / tp bytes: W is on every rank. With it, the encoder output and what is gathered
// for a matmul stay whole.
TEST(Sequence, DividesMostOfTheMemoryThatTensorParallelismDoesNot) {
  const auto two = static_cast<double>(activations(2, false)), four = static_cast<double>(activations(4, false));
  const double on_every_rank = 2 * four - two;
  EXPECT_GT(on_every_rank, 0.5 * four);
  EXPECT_LT(static_cast<double>(activations(2, true)), two - 0.8 * on_every_rank / 2);
  EXPECT_LT(static_cast<double>(activations(4, true)), four - 0.8 * on_every_rank * 3 / 4);
}

TEST(Sequence, ChangesNoMemoryOfASingleRank) { EXPECT_EQ(activations(1, true), activations(1, false)); }

}  // namespace
}  // namespace weft::testing
