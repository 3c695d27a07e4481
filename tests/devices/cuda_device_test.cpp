// tests/devices/cuda_device_test.cpp: memory, copies, streams and errors of a CUDA device, real or emulated.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tensor/memory.h"
#include "tensor/ops.h"
#include "tensor/transfer.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"

namespace weft::testing {
namespace {

std::vector<int32_t> counted(size_t count, int32_t first) {
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(CudaDevice, BuffersAreZeroFilled) {
  Context ctx(Device::cuda);
  const Buffer buffer(1000 * sizeof(int32_t), Device::cuda);
  EXPECT_EQ(to_host<int32_t>(ctx, buffer.tensor({1000}, DType::i32)), std::vector<int32_t>(1000));
}

TEST(CudaDevice, TheHostMayOverwriteWhatItUploaded) {
  Context ctx(Device::cuda);
  constexpr int64_t kCount = 1000;
  const Buffer buffer(3 * kCount * sizeof(int32_t), Device::cuda);
  std::vector<int32_t> host(kCount);
  for (int32_t part = 0; part < 3; ++part) {
    host = counted(kCount, part * 1000);
    upload(ctx, host.data(), buffer.tensor({kCount}, DType::i32, static_cast<size_t>(part * kCount) * sizeof(int32_t)));
    std::fill(host.begin(), host.end(), -1);
  }
  EXPECT_EQ(to_host<int32_t>(ctx, buffer.tensor({3 * kCount}, DType::i32)), counted(3 * kCount, 0));
}

// Copies the data at once, and in parts whose ends never coincide with the ring's.
TEST(CudaDevice, UploadsMoreThanThePinnedRingHolds) {
  Context ctx(Device::cuda);
  constexpr int64_t kCount = (int64_t{21} << 20) / sizeof(int32_t) + 3;
  const Buffer buffer(kCount * sizeof(int32_t), Device::cuda);
  const Tensor all = buffer.tensor({kCount}, DType::i32);
  std::vector<int32_t> host = counted(kCount, 7);
  upload(ctx, host.data(), all);
  std::fill(host.begin(), host.end(), -1);
  EXPECT_EQ(to_host<int32_t>(ctx, all), counted(kCount, 7));

  constexpr int64_t kPiece = 300'001;
  for (int64_t first = 0; first < kCount; first += kPiece) {
    const int64_t count = std::min(kPiece, kCount - first);
    const std::vector<int32_t> piece = counted(static_cast<size_t>(count), static_cast<int32_t>(first));
    upload(ctx, piece.data(), all.slice_rows(first, count));
  }
  EXPECT_EQ(to_host<int32_t>(ctx, all), counted(kCount, 0));
}

TEST(CudaDevice, ADownloadOfNothingKeepsUploadsThatArePending) {
  Context ctx(Device::cuda);
  constexpr int64_t kCount = (int64_t{5} << 20) / sizeof(int32_t);  // more than half of the ring in two uploads
  const Buffer buffer(2 * kCount * sizeof(int32_t), Device::cuda);
  const Tensor all = buffer.tensor({2 * kCount}, DType::i32);
  for (int part = 0; part < 2; ++part) {
    const std::vector<int32_t> piece = counted(kCount, static_cast<int32_t>(part * kCount));
    upload(ctx, piece.data(), all.slice_rows(part * kCount, kCount));
    ctx.runtime().download(all.data, nullptr, 0);
  }
  EXPECT_EQ(to_host<int32_t>(ctx, all), counted(2 * kCount, 0));
}

TEST(CudaDevice, OpsOfOneContextRunInOrder) {
  Context ctx(Device::cuda);
  const Buffer buffer(1000 * sizeof(float), Device::cuda);
  const Tensor x = buffer.tensor({1000});
  weft::ops::fill(ctx, {.x = x, .value = 3});
  for (int i = 0; i < 4; ++i) weft::ops::add(ctx, {.x = x, .y = x});
  EXPECT_EQ(to_host<float>(ctx, x), std::vector<float>(1000, 48));
  const std::vector<float> ones(1000, 1);
  upload(ctx, ones.data(), x);
  weft::ops::add(ctx, {.x = x, .y = x});
  ctx.synchronize();
  EXPECT_EQ(to_host<float>(ctx, x), std::vector<float>(1000, 2));
}

TEST(CudaDevice, MemoryThatIsNotThereIsOneClearLine) {
  const size_t all = device_properties(Device::cuda).total_memory;
  const std::string message = error_of([&] { Buffer(2 * all, Device::cuda); }).what();
  EXPECT_NE(message.find("out of GPU memory (device "), std::string::npos) << message;
  Context ctx(Device::cuda);  // the device still works
  const Buffer buffer(4096, Device::cuda);
  EXPECT_EQ(to_host<float>(ctx, buffer.tensor({1024})), std::vector<float>(1024));
}

TEST(CudaDevice, FootprintIsWhatTheDriverGives) {
  EXPECT_GE(Buffer::footprint(1, Device::cuda), 1u);
  EXPECT_EQ(Buffer::footprint(size_t{3} << 20, Device::cuda), size_t{4} << 20);  // whole pages
  EXPECT_LE(Buffer::footprint(1000, Device::cuda), 4096u);                       // small allocations share one
}

TEST(CudaDevice, SaysWhatItIs) {
  use_device(Device::cuda, 0);
  const DeviceProperties found = device_properties(Device::cuda);
  EXPECT_FALSE(found.name.empty());
  for (const char* part : {"compute ", "driver ", "runtime ", "cuBLASLt "})
    EXPECT_NE(found.version.find(part), std::string::npos) << found.version;
  EXPECT_EQ(found.unique_id.substr(0, 4), "GPU-");
  EXPECT_EQ(found.unique_id.size(), 40u) << found.unique_id;
  EXPECT_GT(found.free_memory, 0u);
  EXPECT_LE(found.free_memory, found.total_memory);
}

TEST(CudaDevice, RefusesDevicesThatAreNotThere) {
  const int count = num_devices(Device::cuda);
  EXPECT_GE(count, 1);
  for (const int index : {-1, count}) {
    const std::string message = error_of([&] { use_device(Device::cuda, index); }).what();
    EXPECT_NE(message.find(fmt::format("there is no CUDA device {}", index)), std::string::npos) << message;
  }
}

TEST(CudaDevice, ErrorsOfTheModuleKnowWhatTheProgramWasDoing) {
  Context ctx(Device::cuda);
  const Buffer buffer(16, Device::cuda);
  const Tensor b = buffer.tensor({2, 2});
  const ErrorFrame frame("while testing");
  const Error error = error_of([&] { weft::ops::pack_weight(ctx, {.weight = b}); });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  EXPECT_EQ(error.frames(), std::vector<std::string>{"while testing"});
}

// Runs in a separate process because after such an error a process cannot use the GPU any more.
TEST(CudaDeviceDeathTest, AnErrorThatSurfacesLaterNamesTheLastKernel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto multiply_what_is_nowhere = [] {
    Context ctx(Device::cuda);
    const Buffer buffer(4096, Device::cuda);
    const Tensor nowhere(reinterpret_cast<void*>(4096), {16, 16}, DType::f32, Device::cuda);
    const std::string message =
        error_of([&] {
          weft::ops::gemm(ctx,
                          {.a = nowhere, .b = buffer.tensor({16, 16}), .c = buffer.tensor({16, 16}, DType::f32, 2048)});
          ctx.synchronize();
        }).what();
    fmt::print(stderr, "{}\n", message);
    std::_Exit(3);
  };
  EXPECT_EXIT(multiply_what_is_nowhere(), ::testing::ExitedWithCode(3),
              "synchronize failed \\(device 0, .*\\): .*, from an earlier kernel; last launch: gemm");
}

// A dry run allocates no memory; the real run takes exactly the measured amount.
TEST(CudaDevice, ScratchMemoryIsWhatTheDryRunMeasured) {
  const auto multiply = [](Context& ctx, const Buffer* buffer) {  // nullptr: tensors without memory
    size_t used = 0;
    const auto tensor = [&](Shape shape, DType dtype) {
      if (buffer == nullptr) return Tensor(nullptr, shape, dtype, Device::cuda);
      const Tensor t = buffer->tensor(shape, dtype, used);
      used += 4096;
      return t;
    };
    weft::ops::gemm(ctx, {.a = tensor({16, 32}, DType::bf16),
                          .b = tensor({32, 24}, DType::bf16),
                          .c = tensor({16, 24}, DType::bf16),
                          .bias = tensor({24}, DType::f32)});
  };
  Context dry(Device::cuda, /*dry_run=*/true), real(Device::cuda);
  multiply(dry, nullptr);
  EXPECT_GT(dry.scratch_bytes(), 0u);
  real.reserve(dry);
  EXPECT_EQ(real.scratch_bytes(), dry.scratch_bytes());
  const Buffer buffer(size_t{4} * 4096, Device::cuda);
  multiply(real, &buffer);
  EXPECT_EQ(real.scratch_bytes(), dry.scratch_bytes());
}

}  // namespace
}  // namespace weft::testing
