// tests/parallel/tensor_parallel_test.cpp: all-reduces, gathers, dry runs, and the split of a vocabulary.
#include "parallel/tensor_parallel.h"

#include <gtest/gtest.h>

#include "communicator_cases.h"

namespace weft {
namespace {

using testing::inputs;
using testing::rank_order_sum;

TEST(TensorParallel, SumsPartialOutputsAndInputGradients) {
  run_thread_ranks(2, [](Communicator& group) {
    Context ctx;
    const TensorParallel tp(group);
    std::vector<float> y = inputs<float>(group.rank(), 12), d_x = y;
    tp.all_reduce(ctx, Tensor(y.data(), {3, 4}));
    testing::expect_bits(y, rank_order_sum<float>(2, 12), "sum");
  });
}

TEST(TensorParallel, GathersInRankOrderAlsoAlone) {
  for (const int size : {1, 3}) {
    run_thread_ranks(size, [](Communicator& group) {
      Context ctx;
      const TensorParallel tp(group);
      std::vector<float> mine(8, static_cast<float>(group.rank() + 1)), all(8 * static_cast<size_t>(group.size()));
      tp.gather_stats(ctx, Tensor(mine.data(), {2, 4}), Tensor(all.data(), {group.size(), 2, 4}));
      for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<float>(i / 8 + 1));
    });
  }
}

TEST(TensorParallel, ADryRunSendsNothing) {
  run_thread_ranks(2, [](Communicator& group) {
    Context dry(Device::cpu, /*dry_run=*/true);
    const TensorParallel tp(group);
    tp.all_reduce(dry, Tensor(nullptr, {3, 4}));
    tp.gather_stats(dry, Tensor(nullptr, {3, 4}), Tensor(nullptr, {2, 3, 4}));
    tp.reduce_scatter(dry, Tensor(nullptr, {4, 4}), Tensor(nullptr, {2, 4}));
  });
}

TEST(VocabularyRange, CoversEachEntryOnceAndPadsTheEnd) {
  for (const int64_t size : {1, 5, 11, 12, 8000}) {
    for (const int ranks : {1, 2, 3, 4}) {
      int64_t valid = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const VocabularyRange range = VocabularyRange::of(size, rank, ranks);
        EXPECT_EQ(range.columns, (size + ranks - 1) / ranks);
        EXPECT_EQ(range.first, valid);
        valid += range.valid;
      }
      EXPECT_EQ(valid, size);
    }
  }
}

}  // namespace
}  // namespace weft
