// tests/model/parameters/param_gather_test.cpp: weights of other shards arrive in the order in which they are needed.
#include "model/parameters/param_gather.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/small_model.h"

namespace weft::testing {
namespace {

// Each rank has only its own parts; the others' places hold a wrong value.
TEST(ParamGather, BringsTheWeightsUpToTheOffsetThatIsNeeded) {
  for (const DType storage : {DType::f32, DType::bf16})
    run_thread_ranks(3, [&](Communicator& dp) {
      Context ctx(Device::cpu);
      ParamStore params(0, 1, storage);
      for (const char* name : {"a", "b", "c"})
        params.declare({.name = name, .shape = {40, 3}, .init = InitSpec::normal(1), .matrix = true});
      params.declare({.name = "bias", .shape = {7}, .init = InitSpec::constant(2)});
      params.allocate(dp.size());
      params.initialize(ctx, /*seed=*/1);
      const int64_t n = params.matrix_numel();
      const Tensor weights = (params.mixed() ? params.rounded() : params.values()).slice_rows(0, n);
      const std::vector<std::byte> right(static_cast<const std::byte*>(weights.data),
                                         static_cast<const std::byte*>(weights.data) + weights.bytes());
      const Shard shard(n, dp.rank(), dp.size(), /*bucket=*/96);
      std::memset(weights.data, 0xFF, weights.bytes());
      for (const Chunk& bucket : shard.buckets()) {
        const Chunk part = shard.own(bucket);
        const size_t at = static_cast<size_t>(part.begin) * size_of(weights.dtype);
        std::memcpy(static_cast<std::byte*>(weights.data) + at, right.data() + at,
                    static_cast<size_t>(part.count) * size_of(weights.dtype));
      }
      ParamGather gather(dp, params, shard);
      gather.begin();
      for (const Param& p : params.params()) {
        if (!p.spec.matrix) continue;
        gather.need(ctx, p.offset + p.numel());
        const auto bytes = static_cast<size_t>(p.offset + p.numel()) * size_of(weights.dtype);
        EXPECT_EQ(std::memcmp(weights.data, right.data(), bytes), 0) << p.spec.name;
      }
      gather.finish(ctx);
      EXPECT_EQ(std::memcmp(weights.data, right.data(), right.size()), 0);
    });
}

}  // namespace
}  // namespace weft::testing
