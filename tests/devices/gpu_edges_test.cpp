// tests/devices/gpu_edges_test.cpp: GPU kernels with arguments that the CPU refuses or does not define.
#include <limits>

#include "tests/devices/op_comparison.h"
#include "tests/support/errors.h"

namespace weft::testing {
namespace {

// The host does not read a GPU's memory, so a sentence may have more keys than there are columns.
TEST(AttentionWeightsOfAGpu, LeaveOutKeysPastTheLastColumn) {
  constexpr int64_t kKeys = 70, kColumns = 40;
  Context cpu(Device::cpu), gpu(Device::cuda);
  for (const DType storage : {DType::f32, DType::bf16, DType::f16}) {
    RandomArguments r(1, storage);
    const Tensor q = r.matrix(2, 8), k = r.matrix(kKeys, 8), all = r.floats({2, kKeys}), wide = r.floats({2, kKeys});
    weft::ops::AttentionWeights a{.q = q,
                                  .k = k,
                                  .q_rows = {r.ints({0}), r.ints({2})},
                                  .k_rows = {r.ints({0}), r.ints({kKeys})},
                                  .lse = r.floats({1, 2}),
                                  .y = all};
    std::copy_n(all.ptr<float>(), all.numel(), wide.ptr<float>());
    const std::vector<float> before = values(wide);
    weft::ops::attention_weights(cpu, a);
    a.y = wide.slice_cols(0, kColumns);
    ops::attention_weights(gpu, a);
    expect_close(values(a.y), values(all.slice_cols(0, kColumns)), tolerance(8, 4));
    std::vector<float> after = values(wide);
    for (int64_t row = 0; row < 2; ++row)
      std::copy_n(before.begin() + row * kKeys, kColumns, after.begin() + row * kKeys);
    EXPECT_EQ(after, before) << "beside the columns";
  }
}

TEST(TopKOfAGpu, PutsNanBehindEveryValue) {
  Context gpu(Device::cuda);
  RandomArguments r(1, DType::f32);
  const Tensor x = r.floats({1, 5}), best = r.floats({1, 5}), columns = r.ids(5, 0, 0).with_shape({1, 5});
  const float nan = std::numeric_limits<float>::quiet_NaN(), least = -std::numeric_limits<float>::infinity();
  std::ranges::copy(std::initializer_list<float>{nan, 1, least, -nan, 2}, x.ptr<float>());
  ops::top_k(gpu, {.x = x, .valid = 5, .values = best, .columns = columns});
  EXPECT_EQ(values<int32_t>(columns), (std::vector<int32_t>{4, 1, 2, 0, 3}));
}

TEST(NormOfAGpu, RefusesRowsThatNoBlockHoldsInADryRun) {
  Context dry(Device::cuda, /*dry_run=*/true);
  const auto tensor = [](Shape shape) { return Tensor(nullptr, shape, DType::f32, Device::cuda); };
  const Tensor x = tensor({1, 32769}), vector = tensor({32769}), row = tensor({1});
  const auto normalise = [&] {
    weft::ops::norm_forward(dry, {.x = x, .gamma = vector, .beta = vector, .y = x, .mean = row, .rstd = row});
  };
  EXPECT_EQ(message_of(ErrorKind::usage, normalise),
            "a norm has 32769 columns, but GPUs support at most 32768; use a smaller model.width");
}

// Tensors are treated as a single row only if none of them has gaps.
TEST(ReluGradientOfAGpu, TakesWholeTensorsAndSlicesTogether) {
  constexpr int64_t kRows = 5, kCols = 12;
  Context cpu(Device::cpu), gpu(Device::cuda);
  for (int slices = 0; slices < 8; ++slices) {
    RandomArguments r(1, DType::f32);
    const auto matrix = [&](int which) {
      return (slices >> which & 1) != 0 ? r.floats({kRows, 2 * kCols}).slice_cols(kCols, kCols)
                                        : r.floats({kRows, kCols});
    };
    weft::ops::ActivationBackward a{.y = matrix(0), .d_y = matrix(1), .d_x = matrix(2), .kind = Activation::relu};
    a.x = a.y;
    weft::ops::activation_backward(cpu, a);
    const std::vector<float> want = values(a.d_x);
    ops::activation_backward(gpu, a);
    EXPECT_EQ(values(a.d_x), want) << slices;
  }
}

TEST(ColumnSumOfAGpu, OfNoColumnsIsNothing) {
  Context gpu(Device::cuda);
  RandomArguments r(1, DType::f32);
  const Tensor beside = r.floats({5, 3}), y = r.floats({1});
  const std::vector<float> before = values(y);
  ops::column_sum(gpu, {.x = beside.slice_cols(1, 0), .y = Tensor(y.data, {0}, DType::f32)});
  EXPECT_EQ(values(y), before);
}

}  // namespace
}  // namespace weft::testing
