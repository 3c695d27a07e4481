// tests/devices/resume_test.cpp: a run started on one device resumes on the other: checkpoints have the same
// values, and training continues as if it had not moved, up to rounding.
#include "tests/support/small_run.h"
#include "trainer/precision.h"

namespace weft::testing {
namespace {

struct Move {
  const char* name;
  Device from, to;
};
constexpr Move kMoves[] = {{"gpu_to_cpu", Device::cuda, Device::cpu}, {"cpu_to_gpu", Device::cpu, Device::cuda}};

class ResumeAcrossDevices : public ::testing::TestWithParam<Move> {
 protected:
  static const TextCorpus& corpus() {
    static const TextCorpus text(/*num_pairs=*/200);
    return text;
  }
  // Six steps on one device, six on the other, on a grid of tp ranks.
  static Trained moved(const Move& move, int tp, Precision precision, OptimizerKind optimizer = OptimizerKind::adam) {
    const TemporaryFolder folder;
    Part rest{
        .tp = tp, .steps = 6, .to = folder.path(), .precision = precision, .device = move.from, .optimizer = optimizer};
    const Trained before = train(corpus(), rest);
    rest.from = folder / "step-00000006", rest.to = "", rest.steps = 0, rest.device = move.to;
    EXPECT_EQ(train(corpus(), rest).params, before.params) << "the same numbers, before another step";
    rest.steps = 6;
    Trained result = train(corpus(), rest);
    result.losses.insert(result.losses.begin(), before.losses.begin(), before.losses.end());
    return result;
  }
};

TEST_P(ResumeAcrossDevices, ResumesAsIfItHadStayed) {
  for (const int tp : {1, 2}) {
    SCOPED_TRACE(fmt::format("tp {}", tp));
    const Trained stayed = train(corpus(), {.steps = 12, .device = Device::cpu});
    EXPECT_LT(stayed.losses.back(), stayed.losses.front());
    expect_equal_to_rounding(moved(GetParam(), tp, Precision::f32), stayed);
  }
}

TEST_P(ResumeAcrossDevices, ResumesWithEveryOptimizer) {
  for (const OptimizerKind kind : {OptimizerKind::muon, OptimizerKind::schedule_free, OptimizerKind::lion}) {
    SCOPED_TRACE(name_of_enum(kind));
    const Trained stayed = train(corpus(), {.steps = 12, .device = Device::cpu, .optimizer = kind});
    expect_equal_to_rounding(moved(GetParam(), /*tp=*/1, Precision::f32, kind), stayed);
  }
}

TEST_P(ResumeAcrossDevices, ResumesInHalfPrecisionToo) {
  for (const Precision precision : {Precision::bf16, Precision::f16}) {
    SCOPED_TRACE(name_of(storage_of(precision)));
    const Trained stayed = train(corpus(), {.steps = 12, .precision = precision, .device = Device::cpu});
    expect_within(kBandOfGrids, moved(GetParam(), 1, precision).losses, stayed.losses);
  }
}

INSTANTIATE_TEST_SUITE_P(Moves, ResumeAcrossDevices, ::testing::ValuesIn(kMoves),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::testing
