// tests/parity/optimizers_test.cpp: some steps of Muon and of schedule-free AdamW give the parameters that PyTorch and
// the package schedulefree have, on every grid and in every precision; wsd gives the rates of transformers.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "parallel/device_mesh.h"
#include "tensor/device_scalars.h"
#include "tensor/half.h"
#include "tests/parity/reference_file.h"
#include "tests/support/compare.h"
#include "tests/support/device_group.h"
#include "tests/support/small_model.h"
#include "trainer/optimizer/optimizer.h"
#include "trainer/optimizer/schedule.h"

namespace weft::testing {
namespace {

using Values = std::map<std::string, std::vector<float>>;  // global tensors by name

// A column-parallel and a row-parallel weight, and two matrices fused in one weight, as layers declare them.
void declare_params(ParamStore& params, bool with_vector) {
  const auto declare = [&](const char* name, Shape shape, int split, int64_t fused, int64_t global_rows) {
    const Param* p =
        params.declare({.name = name, .shape = shape, .tp_dim = split, .fused = fused, .decay = true, .matrix = true});
    params.use_as_matrix(p, split == 1 && fused == 1 ? global_rows : global_rows / params.tp_size());
  };
  declare("wide", {6, 16}, 0, 1, 6);
  declare("tall", {24, 8}, 1, 1, 24);
  declare("pair", {2, 8, 8}, 1, 2, 16);
  if (with_vector) params.declare({.name = "vector", .shape = {40}});
  params.allocate();
}

class OptimizerFile : public ReferenceFile {  // a group of an optimizer
 public:
  explicit OptimizerFile(const std::string& group) : ReferenceFile("optimizers.h5", group), is_muon_(has("momentum")) {}

  bool is_muon() const { return is_muon_; }
  OptimizerConfig options() const {
    if (!is_muon_)
      return {.kind = OptimizerKind::schedule_free,
              .beta1 = number("beta1"),
              .beta2 = number("beta2"),
              .eps = number("eps"),
              .weight_decay = number("weight_decay")};
    return {.kind = OptimizerKind::muon,
            .weight_decay = number("weight_decay"),
            .muon_momentum = number("momentum"),
            .muon_adjust = text("adjust") == "original" ? MuonAdjust::original : MuonAdjust::match_rms_adamw};
  }
  ScheduleConfig schedule() const {
    return {.kind = ScheduleKind::constant, .lr = number("lr"), .warmup = is_muon_ ? 0 : integer("warmup")};
  }
  int64_t steps() const { return integer("steps"); }

  Values values(const std::string& dataset, int64_t step = 0) const {
    Values values{{"wide", read("wide", dataset, step)}, {"tall", read("tall", dataset, step)}};
    values["pair"] = read("first", dataset, step);
    const std::vector<float> second = read("second", dataset, step);
    values["pair"].insert(values["pair"].end(), second.begin(), second.end());
    if (!is_muon_) values["vector"] = read("vector", dataset, step);
    return values;
  }

 private:
  std::vector<float> read(const std::string& name, const std::string& dataset, int64_t step) const {
    const std::vector<double> all = numbers(name + "/" + dataset);
    const auto n = std::ssize(numbers(name + "/initial"));
    return {all.begin() + step * n, all.begin() + (step + 1) * n};
  }

  bool is_muon_;
};

void put_slices(Context& ctx, const ParamStore& params, const Values& values, bool gradients) {
  for (const Param& p : params.params()) {
    std::vector<float> local(static_cast<size_t>(p.numel()));
    slice_from_global(p, values.at(p.spec.name).data(), local.data());
    put(ctx, local, gradients ? p.grad : p.value);
  }
  params.round_values(ctx);
  ctx.synchronize();
}

// The copies that layers compute with are the values, or the values rounded once.
void expect_copies_of(Context& ctx, const ParamStore& params, const Tensor& flat) {
  if (!params.mixed()) return;
  const std::vector<float> values = to_host<float>(ctx, flat);
  std::vector<BFloat16> rounded;
  for (const float value : values) rounded.push_back(from_float<BFloat16>(value));
  const std::vector<BFloat16> copies = to_host<BFloat16>(ctx, params.rounded());
  EXPECT_EQ(std::memcmp(copies.data(), rounded.data(), rounded.size() * sizeof(BFloat16)), 0);
}

struct Optimized {
  Values after, evaluated;  // the weights that are trained; and those that are evaluated, if they are others
};

Optimized optimized(const OptimizerFile& file, int dp, int tp, DType storage = DType::f32) {
  Optimized result;
  run_thread_ranks(dp * tp, [&](Communicator& world) {
    set_num_threads(1);
    const Mesh mesh(world, {.dp = dp, .tp = tp}, test_rank(world));
    const DeviceMesh device_mesh(mesh, Communication::automatic);
    Context& ctx = device_mesh.context();
    ParamStore params(mesh.tp().rank(), tp, storage, test_device());
    declare_params(params, /*with_vector=*/!file.is_muon());
    put_slices(ctx, params, file.values("initial"), /*gradients=*/false);
    Optimizer optimizer(params, file.options(), Shard(params.matrix_numel(), 0, 1, int64_t{1} << 62),
                        /*ema=*/0, {.tp = &device_mesh.tp(), .dp = &device_mesh.dp()});
    optimizer.begin(ctx);
    const DeviceScalars scalars(test_device());
    for (int64_t step = 0; step < file.steps(); ++step) {
      put_slices(ctx, params, file.values("gradients", step), /*gradients=*/true);
      StepScalars now;
      optimizer.next_step(now, learning_rate(file.schedule(), step, file.steps()), /*grad_scale=*/1);
      scalars.set(ctx, now);
      optimizer.update(ctx, scalars.get());
      expect_copies_of(ctx, params, params.values());
    }
    Optimized mine{.after = gather(ctx, params, mesh.tp(), /*gradients=*/false), .evaluated = {}};
    if (optimizer.has_evaluation_weights()) {
      const int64_t matrices = params.matrix_numel();
      const ParamBuffer x{params.grads().slice_rows(0, matrices),
                          params.grads().slice_rows(matrices, params.vector_numel())};
      optimizer.write_evaluation_weights(ctx, x);
      params.round_values(ctx, x);
      expect_copies_of(ctx, params, params.grads());
      mine.evaluated = gather(ctx, params, mesh.tp(), /*gradients=*/true);
    }
    if (world.rank() == 0) result = std::move(mine);
  });
  return result;
}

// Muon: of the changes since the first step. Those of schedule-free steps may be small beside the values, which are
// f32.
void expect_moved_alike(const OptimizerFile& file, const Values& got, const Values& want) {
  const Values initial = file.values("initial");
  for (const auto& [name, expected] : want) {
    if (!file.is_muon()) {
      expect_close_in_norm(got.at(name), expected, 3e-7, 0, name.c_str());
      continue;
    }
    std::vector<float> change = got.at(name), wanted = expected;
    for (size_t i = 0; i < change.size(); ++i) change[i] -= initial.at(name)[i], wanted[i] -= initial.at(name)[i];
    expect_close_in_norm(change, wanted, 1e-5, 0, name.c_str());
  }
}

class PytorchOptimizers : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Runs, PytorchOptimizers,
                         ::testing::Values("muon_match_rms_adamw", "muon_original", "schedule_free",
                                           "schedule_free_warmup", "schedule_free_fast"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(PytorchOptimizers, MoveWeightsAlike) {
  const OptimizerFile file(GetParam());
  const Optimized one = optimized(file, 1, 1);
  expect_moved_alike(file, one.after, file.values("after"));
  if (!file.is_muon()) expect_moved_alike(file, one.evaluated, file.values("evaluated"));
}

// Each element comes from one rank, and all compute the same with it.
TEST_P(PytorchOptimizers, EveryGridMovesThemBitForBitAlike) {
  const OptimizerFile file(GetParam());
  const Optimized one = optimized(file, 1, 1);
  for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}, {5, 1}}) {
    const Optimized other = optimized(file, dp, tp);
    EXPECT_EQ(other.after, one.after) << "dp " << dp << " x tp " << tp;
    EXPECT_EQ(other.evaluated, one.evaluated) << "dp " << dp << " x tp " << tp;
  }
}

// In mixed precision the same values move, with the same gradients, and the copies are these, rounded.
TEST_P(PytorchOptimizers, InBf16MoveTheSameValuesAndRoundTheirCopies) {
  const OptimizerFile file(GetParam());
  const Optimized one = optimized(file, 1, 1);
  for (const int tp : {1, 2}) {
    const Optimized mixed = optimized(file, 1, tp, DType::bf16);
    EXPECT_EQ(mixed.evaluated, one.evaluated);
    if (file.is_muon() && test_device() == Device::cuda) {  // where its iteration is in bf16, then
      for (const auto& [name, values] : one.after) expect_close_in_norm(mixed.after.at(name), values, 1e-3, 0);
    } else {
      EXPECT_EQ(mixed.after, one.after);
    }
  }
}

// PyTorch iterates in bf16: its updates differ from exact ones by its rounding.
TEST(PytorchMuon, ItsBf16IterationIsNear) {
  const OptimizerFile file("bf16_match_rms_adamw");
  const Values want = file.values("after");
  for (const auto& [name, got] : optimized(file, 1, 1).after)
    expect_close_in_norm(got, want.at(name), 1e-3, 0, name.c_str());
}

// transformers counts from 0, where its rate is the lowest one.
TEST(TransformersWsd, HasTheSameRates) {
  for (const char* group : {"wsd_linear", "wsd_1-sqrt", "wsd_lowest"}) {
    const ReferenceFile file("optimizers.h5", group);
    const int64_t total = file.integer("total"), warmup = file.integer("warmup");
    const ScheduleConfig wsd{
        .kind = ScheduleKind::wsd,
        .lr = 1,
        .warmup = warmup,
        .warmup_lr = file.number("lowest"),
        .min_lr = file.number("lowest"),
        .decay_share = file.number("decay") / static_cast<double>(total),
        .decay_shape = file.text("shape") == "linear" ? DecayShape::linear : DecayShape::one_minus_sqrt};
    std::vector<double> got, want = file.numbers("rates");
    for (int64_t step = 0; step < std::ssize(want); ++step) got.push_back(learning_rate(wsd, step, total));
    expect_close(got, want, 1e-14, group);
  }
}

}  // namespace
}  // namespace weft::testing
