// tests/trainer/health/replica_check_test.cpp: replicas that differ in one bit, and replicas that train.
#include "trainer/health/replica_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/support/errors.h"
#include "tests/support/small_run.h"

namespace weft::testing {
namespace {

void flip(float& value, int bit) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits ^= 1u << bit;
  std::memcpy(&value, &bits, sizeof bits);
}

// What all ranks of a 2 x 2 grid are told if `rank` flips the lowest bit of an element of a parameter.
std::string told_after_flipping(int rank, const char* name, int64_t element) {
  std::string message;
  run_thread_ranks(4, [&](Communicator& world) {
    const Mesh mesh(world, {.dp = 2, .tp = 2});
    ParamStore params(mesh.tp().rank(), mesh.tp().size());
    params.declare({.name = "norm.weight", .shape = {35}});
    params.declare({.name = "linear.weight", .shape = {6, 7}, .tp_dim = 0, .init = InitSpec::normal(1)});
    params.allocate();
    Context ctx;
    params.initialize(ctx, /*seed=*/1);
    const std::vector<ReplicatedState> states{{"the second moment of ", params.values()}};
    require_equal_replicas(ctx, params, states, mesh);
    if (world.rank() == rank) {
      flip(params.find(name)->value.ptr<float>()[element], /*bit=*/0);
    }
    const std::string refusal =
        message_of(ErrorKind::diverged, [&] { require_equal_replicas(ctx, params, states, mesh); });
    if (world.rank() == 0) message = refusal;
  });
  return message;
}

TEST(ReplicaCheck, NamesTheTensorAndTheRanksOfOneFlippedBit) {
  for (const int64_t element : {0, 16, 34}) {
    const std::string whole = told_after_flipping(/*rank=*/2, "norm.weight", element);
    EXPECT_NE(whole.find("the second moment of norm.weight differs between rank 0 and rank 2"), std::string::npos)
        << whole;
  }
  const std::string split = told_after_flipping(/*rank=*/3, "linear.weight", 20);
  EXPECT_NE(split.find("linear.weight differs between rank 1 and rank 3"), std::string::npos) << split;
}

enum class Place { weight, gradient, first_moment, second_moment };

// Two data-parallel ranks train a parameter; between two steps rank 1 flips a bit of one element at `place`. Whether
// the check after the next step finds it.
bool finds_after_a_step(Place place, int bit) {
  bool found = false;
  run_thread_ranks(2, [&](Communicator& world) {
    const Mesh mesh(world, {.dp = 2, .tp = 1});
    ParamStore params(/*tp_rank=*/0, /*tp_size=*/1);
    const Param* weight = params.declare({.name = "weight", .shape = {8, 5}, .init = InitSpec::normal(1)});
    params.allocate();
    Context ctx;
    params.initialize(ctx, /*seed=*/1);
    Optimizer optimizer(params, {});
    for (int step = 0; step < 2; ++step) {
      for (int64_t i = 0; i < weight->numel(); ++i)  // the sums over the ranks are equal
        weight->grad.ptr<float>()[i] = std::sin(static_cast<float>(i + 7 * step));
      const Tensor at = place == Place::weight         ? weight->value
                        : place == Place::gradient     ? weight->grad
                        : place == Place::first_moment ? optimizer.first_moment().of(*weight)
                                                       : optimizer.states()[1].values.of(*weight);
      if (step == 1 && world.rank() == 1) flip(at.ptr<float>()[13], bit);
      StepScalars scalars;
      optimizer.next_step(scalars, /*lr=*/0.01, /*grad_scale=*/1);
      optimizer.update(ctx, &scalars);
    }
    const std::string refusal = message_of(ErrorKind::diverged, [&] {
      require_equal_replicas(ctx, params,
                             {{"", params.values()},
                              {"the first moment of ", optimizer.first_moment()},
                              {"the second moment of ", optimizer.states()[1].values}},
                             mesh);
    });
    if (world.rank() == 0) found = refusal.find("weight differs between rank 0 and rank 1") != std::string::npos;
  });
  return found;
}

// The lowest bits of a gradient or a moment may round away; then nothing differs.
TEST(ReplicaCheck, FindsAFlippedBitOfAWeightAGradientOrAMomentAfterTheNextStep) {
  for (const Place place : {Place::weight, Place::gradient, Place::first_moment, Place::second_moment})
    for (const int bit : {4, 8, 12, 16, 18, 20, 22, 23, 26, 31}) {
      if (place == Place::second_moment && bit == 31) continue;  // Adam takes the root
      EXPECT_TRUE(finds_after_a_step(place, bit)) << "place " << static_cast<int>(place) << ", bit " << bit;
    }
}

TEST(ReplicaCheck, NamesWholeParametersThatDifferBetweenTensorParallelRanks) {
  std::string message;
  run_thread_ranks(2, [&](Communicator& world) {
    const Mesh mesh(world, {.dp = 1, .tp = 2});
    ParamStore params(mesh.tp().rank(), mesh.tp().size());
    params.declare({.name = "norm.weight", .shape = {3}});
    params.allocate();
    params.values().ptr<float>()[1] = static_cast<float>(world.rank());
    Context ctx;
    const std::string refusal = message_of(ErrorKind::diverged, [&] {
      require_equal_replicas(ctx, params, {{"", params.values()}}, mesh);
    });
    if (world.rank() == 1) message = refusal;
  });
  EXPECT_NE(message.find("norm.weight differs between rank 0 and rank 1"), std::string::npos) << message;
}

TEST(ReplicaCheck, FindsNothingInRunsOnAnyGrid) {
  const TextCorpus corpus(/*num_pairs=*/60);
  for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}}) {
    run_thread_ranks(dp * tp, [&, dp = dp, tp = tp](Communicator& world) {
      RunConfig config = run_config(corpus);
      config.parallel = {.dp = dp, .tp = tp};
      config.train.precision = Precision::bf16;
      config.train.check_replicas = 2;
      config = resolved(config, world.size());
      const Mesh mesh(world, config.parallel, rank_on(test_device(), world));
      SmallRun run(config, mesh);
      for (int i = 0; i < 4; ++i) run.step();
    });
  }
}

}  // namespace
}  // namespace weft::testing
