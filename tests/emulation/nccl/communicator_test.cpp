// tests/emulation/nccl/communicator_test.cpp: collectives over NCCL between thread ranks, and how they fail.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <latch>
#include <string>

#include "parallel/device_mesh.h"
#include "parallel/mesh.h"
#include "tensor/ops.h"
#include "tests/emulation/nccl/gpu_ranks.h"
#include "tests/parallel/communicator_cases.h"
#include "tests/parallel/on_device.h"

namespace weft::testing {
namespace {

using std::chrono::milliseconds;

constexpr NcclLimits kShort{.collective = milliseconds(200)};

class NcclRanks : public ::testing::TestWithParam<std::tuple<int, CommunicatorCase>> {
  void SetUp() override { sums_in_rank_order = false; }
  void TearDown() override { sums_in_rank_order = true; }
};
TEST_P(NcclRanks, Do) {
  const auto& [size, one] = GetParam();
  EXPECT_NO_THROW(run_gpu_ranks(size, [&](Context& ctx, Communicator& world, Communicator&) {
    OnDevice on_device(ctx, world);
    one.run(on_device);
  }));
}
INSTANTIATE_TEST_SUITE_P(Nccl, NcclRanks,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4), ::testing::ValuesIn(nccl_cases())),
                         [](const auto& info) {
                           return fmt::format("{}_{}", std::get<1>(info.param).name, std::get<0>(info.param));
                         });

class NcclRanksForHostValues : public ::testing::TestWithParam<CommunicatorCase> {};
TEST_P(NcclRanksForHostValues, DoAsTheirHostCommunicator) {
  EXPECT_NO_THROW(run_gpu_ranks(2, [](Context&, Communicator& world, Communicator&) { GetParam().run(world); }));
}
INSTANTIATE_TEST_SUITE_P(Nccl, NcclRanksForHostValues, ::testing::ValuesIn(kCommunicatorCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Nccl, AResultIsThereForWhatIsEnqueuedNext) {
  run_gpu_ranks(2, [](Context& ctx, Communicator& world, Communicator&) {
    const Buffer x = floats(ctx, {1, 3, 5}), sum = floats(ctx, {0, 0, 0});
    for (int i = 0; i < 10; ++i) {  // only events order the two streams
      world.all_reduce(x.tensor({3}));
      ops::add(ctx, {.x = x.tensor({3}), .y = sum.tensor({3})});
    }
    const float factor = 2 + 4 + 8 + 16 + 32 + 64 + 128 + 256 + 512 + 1024;
    EXPECT_EQ(to_host<float>(ctx, sum.tensor({3})), (std::vector<float>{factor, 3 * factor, 5 * factor}));
  });
}

TEST(Nccl, AStartedResultIsThereForWhatIsEnqueuedAfterWait) {
  run_gpu_ranks(2, [](Context& ctx, Communicator& world, Communicator&) {
    const Buffer x = floats(ctx, {1, 3, 5});
    for (int i = 0; i < 10; ++i) {
      const auto pending = world.start_all_reduce(x.tensor({3}));
      pending->wait();
      ops::add(ctx, {.x = x.tensor({3}), .y = x.tensor({3})});  // from 2 to 4 times the input
    }
    const float factor = 1 << 20;
    EXPECT_EQ(to_host<float>(ctx, x.tensor({3})), (std::vector<float>{factor, 3 * factor, 5 * factor}));
  });
}

TEST(Nccl, MemoryIsNotFreedUnderWhatWaitsForAnotherRank) {
  std::latch enqueued(1);
  run_gpu_ranks(2, [&](Context& ctx, Communicator& world, Communicator&) {
    const Buffer x = floats(ctx, {1, 3, 5});
    Buffer sum = floats(ctx, {0, 0, 0});
    if (world.rank() == 1) enqueued.wait();
    world.all_reduce(x.tensor({3}));
    ops::add(ctx, {.x = x.tensor({3}), .y = sum.tensor({3})});
    if (world.rank() == 0) enqueued.count_down();
    sum = {};
    ctx.synchronize();
  });
}

TEST(Nccl, TwoGroupsOfOneContextShareOneOrder) {
  run_gpu_ranks(4, [](Context& ctx, Communicator& world, Communicator& host) {
    const auto pairs = host.split(host.rank() / 2, 0), others = host.split(host.rank() % 2, 0);
    const auto tp = make_nccl_communicator(ctx, *pairs), dp = make_nccl_communicator(ctx, *others);
    const Buffer x = floats(ctx, {1, 1}), y = floats(ctx, {2, 2});
    const auto pending = dp->start_all_reduce(y.tensor({2}));
    tp->all_reduce(x.tensor({2}));
    world.all_reduce(x.tensor({2}));
    pending->wait();
    EXPECT_EQ(to_host<float>(ctx, x.tensor({2})), std::vector<float>(2, 8.0f));
    EXPECT_EQ(to_host<float>(ctx, y.tensor({2})), std::vector<float>(2, 4.0f));
  });
}

TEST(Nccl, TensorsThatCannotTravelAreRefused) {
  run_gpu_ranks(2, [](Context& ctx, Communicator& world, Communicator&) {
    const Buffer x(1024, Device::cuda);
    EXPECT_THROW(world.all_reduce(x.tensor({2, 6}).slice_cols(0, 2)), Error);
    EXPECT_THROW(world.all_gather(x.tensor({4}), x.tensor({2, 5}, DType::f32, 512)), Error);
    std::vector<float> host(8);
    EXPECT_THROW(world.all_gather(x.tensor({4}), view(host)), Error);
    ctx.synchronize();
  });
}

TEST(Nccl, CarriesTheTensorsOfAMeshOfGpus) {
  run_thread_ranks(4, [](Communicator& host) {
    use_device(Device::cuda, host.rank());
    const Mesh mesh(host, {.dp = 2, .tp = 2}, {.device = Device::cuda});
    const DeviceMesh device(mesh, Communication::automatic);
    const Buffer x = floats(device.context(), {1});
    device.dp().all_reduce(x.tensor({1}));
    device.tp().all_reduce(x.tensor({1}));
    EXPECT_EQ(to_host<float>(device.context(), x.tensor({1})), std::vector<float>{4});
  });
}

TEST(Nccl, IsTakenWhereEachRankHasAGpuOfItsOwn) {
  const RankDevice alone{.device = Device::cuda}, shared{.device = Device::cuda, .num_sharing = 2};
  EXPECT_FALSE(stages_through_host(alone, Communication::automatic));
  EXPECT_TRUE(stages_through_host(shared, Communication::automatic));
  EXPECT_FALSE(stages_through_host(shared, Communication::nccl));
  EXPECT_TRUE(stages_through_host(alone, Communication::mpi));
  EXPECT_FALSE(stages_through_host({}, Communication::automatic));
}

// ---- failures

// The error on rank 0 of two after `body` and a wait for the device; rank 1 runs `other`.
std::string failure(const GpuBody& body, const GpuBody& other, NcclLimits limits = {}) {
  std::string heard = "rank 0 did not come so far";
  try {
    run_gpu_ranks(
        2,
        [&](Context& ctx, Communicator& world, Communicator& host) {
          if (world.rank() == 1) return other(ctx, world, host);
          try {
            body(ctx, world, host);
            ctx.synchronize();
            heard = "nothing";
          } catch (const Error& e) {
            heard = e.what();
          }
        },
        limits);
  } catch (const std::exception&) {  // rank 1's own
  }
  return heard;
}

void reduce_in_step_seven(Context& ctx, Communicator& world, Communicator&) {
  const Buffer x = floats(ctx, {1, 2, 3, 4});
  world.set_step(7);
  world.all_reduce(x.tensor({4}));
  ctx.synchronize();
}

const std::string kCollective = "all_reduce of 16 bytes in step 7, rank 0 of a group of 2";
const std::string kReport = kCollective + ": NCCL failed (device 0, Emulated device): remote error ";

TEST(NcclFailure, ARankThatNeverComesIsWaitedForUpToTheLimit) {
  std::latch heard(1);
  const std::string text = failure(
      [&](Context& ctx, Communicator& world, Communicator& host) {
        try {
          reduce_in_step_seven(ctx, world, host);
        } catch (const Error&) {
          heard.count_down();
          throw;
        }
      },
      [&](Context&, Communicator&, Communicator&) { heard.wait(); }, kShort);
  EXPECT_EQ(text, kCollective +
                      " (device 0, Emulated device): not finished after 0.2 s (parallel.timeout); another rank has "
                      "stopped, hangs or makes different calls: see its message");
}

TEST(NcclFailure, ARankOfAMeshIsWaitedForAsLongAsTheOptionSays) {
  std::latch heard(1);
  std::string text = "nothing";
  run_thread_ranks(2, [&](Communicator& host) {
    use_device(Device::cuda, host.rank());
    const Mesh mesh(host, {.dp = 2, .tp = 1}, {.device = Device::cuda});
    const DeviceMesh device(mesh, Communication::nccl, nccl_limits({.timeout = 0.2}));
    const Buffer x = floats(device.context(), {1, 2, 3});
    const auto reduce_in_step = [&](int64_t step) {
      device.dp().set_step(step);
      device.dp().all_reduce(x.tensor({3}));
      device.context().synchronize();
    };
    reduce_in_step(1);
    if (host.rank() == 1) return heard.wait();
    try {
      reduce_in_step(2);
    } catch (const Error& e) {
      text = e.what();
    }
    heard.count_down();
  });
  EXPECT_TRUE(text.starts_with("all_reduce of 12 bytes in step 2, rank 0 of a group of 2 (device 0, ")) << text;
}

TEST(NcclFailure, ARankThatEndsByAnErrorIsNoticedAtOnce) {
  const std::string text = failure(
      reduce_in_step_seven, [](Context&, Communicator&, Communicator&) { throw std::runtime_error("disk full"); });
  EXPECT_EQ(text, kReport + "(rank 1 has left); set NCCL_DEBUG=WARN for details");
}

TEST(NcclFailure, AGatherOfPartsIsNamedWithTheBytesOfAllParts) {
  const std::string text = failure(
      [](Context& ctx, Communicator& world, Communicator&) {
        const Buffer x = floats(ctx, {1, 2, 3, 4, 5});
        world.all_gather_v({x.tensor({2}), x.tensor({3}, DType::f32, 2 * sizeof(float))});
        ctx.synchronize();
      },
      [](Context&, Communicator&, Communicator&) { throw std::runtime_error("disk full"); });
  EXPECT_TRUE(text.starts_with("all_gather_v of 20 bytes")) << text;
}

TEST(NcclFailure, AnAsynchronousErrorIsThrownWhereTheHostWaits) {
  setenv("WEFT_EMULATED_NCCL_FAULT", "0:1", 1);
  const GpuBody twice = [](Context& ctx, Communicator& world, Communicator& host) {
    const Buffer x = floats(ctx, {1, 2});
    world.all_reduce(x.tensor({2}));
    reduce_in_step_seven(ctx, world, host);
  };
  const std::string text = failure(twice, twice);
  unsetenv("WEFT_EMULATED_NCCL_FAULT");
  EXPECT_EQ(text, kReport + "(the network failed, as the test wanted); set NCCL_DEBUG=WARN for details");
}

TEST(NcclFailure, DifferentCallsAreNamed) {
  const std::string text = failure(reduce_in_step_seven, [](Context& ctx, Communicator& world, Communicator&) {
    const Buffer x = floats(ctx, {1, 2, 3, 4});
    world.broadcast(x.tensor({4}), 0);
    ctx.synchronize();
  });
  EXPECT_NE(text.find("rank 0 ncclAllReduce of 4 elements"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 1 ncclBroadcast of 4 elements"), std::string::npos) << text;
}

TEST(NcclFailure, EveryLaterCallFailsForTheSameReason) {
  std::vector<std::string> texts;
  failure(
      [&](Context& ctx, Communicator& world, Communicator& host) {
        const Buffer x = floats(ctx, {1});
        const std::vector<std::function<void()>> calls = {[&] { reduce_in_step_seven(ctx, world, host); },
                                                          [&] { world.all_reduce(x.tensor({1})); },
                                                          [&] { world.barrier(); },
                                                          [&] { world.sum(1.0); },
                                                          [&] { ctx.synchronize(); },
                                                          [&] { to_host<float>(ctx, x.tensor({1})); }};
        for (const auto& call : calls) {
          try {
            call();
            texts.push_back("nothing");
          } catch (const Error& e) {
            texts.push_back(e.what());
          }
        }
      },
      [](Context&, Communicator&, Communicator&) { throw std::runtime_error("disk full"); });
  ASSERT_EQ(texts.size(), 6u);
  for (const std::string& text : texts) EXPECT_EQ(text, texts.front());
  EXPECT_TRUE(texts.front().starts_with(kCollective)) << texts.front();
}

TEST(NcclFailure, ItsErrorHasTheFramesOfTheProgram) {
  std::vector<std::string> frames;
  failure(
      [&](Context& ctx, Communicator& world, Communicator& host) {
        const ErrorFrame frame("while this is tested");
        try {
          reduce_in_step_seven(ctx, world, host);
        } catch (const Error& e) {
          frames = e.frames();
        }
      },
      [](Context&, Communicator&, Communicator&) { throw std::runtime_error("disk full"); });
  EXPECT_EQ(frames, std::vector<std::string>{"while this is tested"});
}

TEST(NcclFailure, AnErrorEndsWhatThisRankHasUnderWay) {
  std::latch gone(1);
  run_thread_ranks(2, [&](Communicator& host) {
    try {
      use_device(Device::cuda, host.rank());
      Context ctx(Device::cuda);
      const auto world = make_nccl_communicator(ctx, host);
      if (world->rank() == 0) return gone.wait();  // makes no call, so the others would wait for it
      const Buffer x = floats(ctx, {1});
      world->all_reduce(x.tensor({1}));
      throw std::runtime_error("disk full");
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "disk full");
      gone.count_down();
    }
  });
}

// The errors of make_nccl_communicator on two ranks; `device_of` selects each rank's device.
Error connection_failure(int (*device_of)(int rank), NcclLimits limits) {
  try {
    run_thread_ranks(2, [&](Communicator& host) {
      use_device(Device::cuda, device_of(host.rank()));
      Context ctx(Device::cuda);
      make_nccl_communicator(ctx, host, limits);
    });
  } catch (const Error& e) {
    return e;
  }
  return Error(ErrorKind::internal, "nothing was thrown");
}

TEST(NcclFailure, RanksThatDoNotConnectAreWaitedForUpToTheLimit) {
  setenv("WEFT_EMULATED_NCCL_FAULT", "1:-1", 1);  // it never connects
  const Error error = connection_failure([](int rank) { return rank; }, kShort);
  unsetenv("WEFT_EMULATED_NCCL_FAULT");
  EXPECT_EQ(error.kind(), ErrorKind::peer);
  EXPECT_TRUE(std::string(error.what()).starts_with("connecting 2 ranks over NCCL")) << error.what();
}

TEST(NcclFailure, TheRanksAgreeOnTheCauseNotOnWhatFollowedFromIt) {
  setenv("WEFT_EMULATED_NCCL_FAULT", "1:-2", 1);  // and rank 0 has a remote error
  const Error error = connection_failure([](int rank) { return rank; }, {});
  unsetenv("WEFT_EMULATED_NCCL_FAULT");
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  const std::string report = ": NCCL failed (device 1, Emulated device): invalid usage";
  EXPECT_TRUE(std::string(error.what()).starts_with("rank 1 on " + host_name() + report)) << error.what();
}

TEST(NcclFailure, TwoRanksOnOneGpuAgreeOnTheError) {
  const Error error = connection_failure([](int) { return 0; }, {});
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_NE(std::string(error.what()).find("Duplicate GPU detected"), std::string::npos) << error.what();
}

TEST(Nccl, AContextOfNoGpuIsRefused) {
  Context ctx;
  const auto alone = make_single_communicator();
  EXPECT_THROW(make_nccl_communicator(ctx, *alone), Error);
}

TEST(NcclEnvironment, NewVersionsKnowOfRanksThatShareAGpu) {
  const auto variables = one_gpu_environment(23003, "a");
  EXPECT_EQ(variables.front(), std::make_pair(std::string("NCCL_MULTI_RANK_GPU_ENABLE"), std::string("1")));
}

TEST(NcclEnvironment, ForOldVersionsEachRankIsAMachine) {
  const auto first = one_gpu_environment(22907, "a"), second = one_gpu_environment(22907, "b");
  EXPECT_EQ(first.front().first, "NCCL_HOSTID");
  EXPECT_NE(first.front().second, second.front().second);
  EXPECT_EQ(std::vector(first.begin() + 1, first.end()), std::vector(second.begin() + 1, second.end()));
}

}  // namespace
}  // namespace weft::testing
