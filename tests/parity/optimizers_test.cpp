// tests/parity/optimizers_test.cpp: some steps of Muon and of schedule-free AdamW give the parameters
// that PyTorch and the package schedulefree have.
#include <gtest/gtest.h>

#include <map>

#include "parallel/device_mesh.h"
#include "tensor/device_scalars.h"
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
void declare_matrices(ParamStore& params) {
  const auto declare = [&](const char* name, Shape shape, int split, int64_t fused, int64_t global_rows) {
    const Param* p =
        params.declare({.name = name, .shape = shape, .tp_dim = split, .fused = fused, .decay = true, .matrix = true});
    params.use_as_matrix(p, split == 1 && fused == 1 ? global_rows : global_rows / params.tp_size());
  };
  declare("wide", {6, 16}, 0, 1, 6);
  declare("tall", {24, 8}, 1, 1, 24);
  declare("pair", {2, 8, 8}, 1, 2, 16);
  params.allocate();
}

std::vector<float> numbers(const ReferenceFile& file, const std::string& name, const std::string& dataset,
                           size_t step) {
  const std::vector<double> all = file.numbers(name + "/" + dataset);
  const size_t n = file.numbers(name + "/initial").size();
  return {all.begin() + static_cast<std::ptrdiff_t>(step * n),
          all.begin() + static_cast<std::ptrdiff_t>((step + 1) * n)};
}

Values values_of(const ReferenceFile& file, const std::string& dataset, size_t step) {
  Values values;
  for (const char* name : {"wide", "tall"}) values[name] = numbers(file, name, dataset, step);
  values["pair"] = numbers(file, "first", dataset, step);
  const std::vector<float> second = numbers(file, "second", dataset, step);
  values["pair"].insert(values["pair"].end(), second.begin(), second.end());
  return values;
}

void put_slices(Context& ctx, const ParamStore& params, const Values& values, bool gradients) {
  for (const Param& p : params.params()) {
    std::vector<float> local(static_cast<size_t>(p.numel()));
    slice_from_global(p, values.at(p.spec.name).data(), local.data());
    put(ctx, local, gradients ? p.grad : p.value);
  }
  ctx.synchronize();
}

Values steps_of_muon(const ReferenceFile& file, int dp, int tp) {
  OptimizerConfig options{.kind = OptimizerKind::muon,
                          .weight_decay = file.number("weight_decay"),
                          .muon_momentum = file.number("momentum")};
  if (file.text("adjust") == "original") options.muon_adjust = MuonAdjust::original;
  Values result;
  run_thread_ranks(dp * tp, [&](Communicator& world) {
    set_num_threads(1);
    const Mesh mesh(world, {.dp = dp, .tp = tp}, test_rank(world));
    const DeviceMesh device_mesh(mesh, Communication::automatic);
    Context& ctx = device_mesh.context();
    ParamStore params(mesh.tp().rank(), tp, DType::f32, test_device());
    declare_matrices(params);
    put_slices(ctx, params, values_of(file, "initial", 0), /*gradients=*/false);
    Optimizer optimizer(params, options, Shard(params.matrix_numel(), 0, 1, int64_t{1} << 62),
                        /*ema=*/0, {.tp = &device_mesh.tp(), .dp = &device_mesh.dp()});
    const DeviceScalars scalars(test_device());
    for (int64_t step = 0; step < file.integer("steps"); ++step) {
      put_slices(ctx, params, values_of(file, "gradients", static_cast<size_t>(step)), /*gradients=*/true);
      StepScalars now;
      optimizer.next_step(now, file.number("lr"), /*grad_scale=*/1);
      scalars.set(ctx, now);
      optimizer.update(ctx, scalars.get());
    }
    const Values values = gather(ctx, params, mesh.tp(), /*gradients=*/false);
    if (world.rank() == 0) result = values;
  });
  return result;
}

class PytorchMuon : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Adjust, PytorchMuon, ::testing::Values("match_rms_adamw", "original"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(PytorchMuon, MovesMatricesAlike) {
  const ReferenceFile file("pytorch_optimizers.h5", std::string("muon_") + GetParam());
  const Values want = values_of(file, "after", static_cast<size_t>(file.integer("steps")) - 1);
  const Values initial = values_of(file, "initial", 0), one = steps_of_muon(file, 1, 1);
  for (const auto& [name, expected] : want) {
    std::vector<float> change = one.at(name), wanted = expected;
    for (size_t i = 0; i < change.size(); ++i) change[i] -= initial.at(name)[i], wanted[i] -= initial.at(name)[i];
    expect_close_in_norm(change, wanted, 1e-5, 0, name.c_str());  // the values, near 1, are f32
  }
}

// Each element of a whole matrix comes from one rank, and all compute the same with it.
TEST_P(PytorchMuon, EveryGridMovesThemBitForBitAlike) {
  const ReferenceFile file("pytorch_optimizers.h5", std::string("muon_") + GetParam());
  const Values one = steps_of_muon(file, 1, 1);
  for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}, {5, 1}})
    EXPECT_EQ(steps_of_muon(file, dp, tp), one) << "dp " << dp << " x tp " << tp;
}

// PyTorch iterates in bf16: its updates differ from exact ones by its rounding.
TEST(PytorchMuon, ItsBf16IterationIsNear) {
  const ReferenceFile file("pytorch_optimizers.h5", "bf16_match_rms_adamw");
  const Values want = values_of(file, "after", static_cast<size_t>(file.integer("steps")) - 1);
  for (const auto& [name, got] : steps_of_muon(file, 1, 1))
    expect_close_in_norm(got, want.at(name), 1e-3, 0, name.c_str());
}

class PytorchScheduleFree : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Warmup, PytorchScheduleFree, ::testing::Values("schedule_free", "schedule_free_warmup"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(PytorchScheduleFree, TrainsAndEvaluatesTheSameWeights) {
  const ReferenceFile file("pytorch_optimizers.h5", GetParam());
  const OptimizerConfig options{.kind = OptimizerKind::schedule_free,
                                .beta1 = file.number("beta1"),
                                .beta2 = file.number("beta2"),
                                .eps = file.number("eps"),
                                .weight_decay = file.number("weight_decay")};
  const ScheduleConfig schedule{
      .kind = ScheduleKind::constant, .lr = file.number("lr"), .warmup = file.integer("warmup")};
  Context ctx(test_device());
  ParamStore params(0, 1, DType::f32, test_device());
  const Param* p = params.declare({.name = "vector", .shape = {40}, .decay = true});
  params.allocate();
  put(ctx, numbers(file, "vector", "initial", 0), p->value);
  Optimizer optimizer(params, options);
  optimizer.begin(ctx);
  const DeviceScalars scalars(test_device());
  for (int64_t step = 0; step < file.integer("steps"); ++step) {
    put(ctx, numbers(file, "vector", "gradients", static_cast<size_t>(step)), p->grad);
    StepScalars now;
    optimizer.next_step(now, learning_rate(schedule, step, file.integer("steps")), /*grad_scale=*/1);
    scalars.set(ctx, now);
    optimizer.update(ctx, scalars.get());
    expect_close_in_norm(to_host<float>(ctx, p->value), numbers(file, "vector", "after", static_cast<size_t>(step)),
                         3e-7, 0, "y");
  }
  const ParamBuffer x{params.grads().slice_rows(0, 0), params.grads()};
  optimizer.write_evaluation_weights(ctx, x);
  expect_close_in_norm(to_host<float>(ctx, p->grad), numbers(file, "vector", "evaluated", 0), 3e-7, 0, "x");
}

}  // namespace
}  // namespace weft::testing
