// tensor/cuda/gemm/gemm_tuning.cpp: finds the fastest algorithm for a GEMM by timing candidates.
#include <algorithm>
#include <array>
#include <limits>

#include "tensor/cuda/gemm/gemm_plan.h"
#include "tensor/cuda/runtime/runtime.h"

namespace weft::cuda {
namespace {

constexpr size_t kFullAlignment = 256;

// A separate matrix with the strides and alignment of the real one; throws an Error if out of memory. It
// holds zeros, on which tensor cores are a little faster, but equally for all candidates.
class Operand {
 public:
  Operand(int64_t rows, int64_t row_stride, DType dtype, uint32_t alignment)
      : offset_(alignment % kFullAlignment),
        data_(allocate(static_cast<size_t>(rows * row_stride) * size_of(dtype) + kFullAlignment)) {}
  ~Operand() { release(data_); }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  void* data() const { return static_cast<char*>(data_) + offset_; }

 private:
  size_t offset_;
  void* data_;
};

class Stopwatch {  // times the work of a stream
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    for (cudaEvent_t& event : events_) check(cudaEventCreate(&event), "cudaEventCreate");
  }
  ~Stopwatch() {
    for (cudaEvent_t event : events_) (void)cudaEventDestroy(event);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  void start() { check(cudaEventRecord(events_[0], stream_), "cudaEventRecord"); }
  float milliseconds() {  // since start; waits
    float elapsed = 0;
    check(cudaEventRecord(events_[1], stream_), "cudaEventRecord");
    check(cudaEventSynchronize(events_[1]), "cudaEventSynchronize");
    check(cudaEventElapsedTime(&elapsed, events_[0], events_[1]), "cudaEventElapsedTime");
    return elapsed;
  }

 private:
  cudaStream_t stream_;
  std::array<cudaEvent_t, 2> events_{};
};

}  // namespace

size_t fastest_candidate(const GemmQueue& queue, const GemmKey& key, size_t count,
                         const std::function<bool(size_t candidate, const GemmOperands&)>& run) {
  constexpr int kRuns = 5;
  const Operand a(key.trans_a ? key.k : key.m, key.a_stride, key.ab, key.a_alignment);
  const Operand b(key.trans_b ? key.n : key.k, key.b_stride, key.ab, key.b_alignment);
  const Operand c(key.m, key.c_stride, key.c, key.c_alignment);
  const Operand bias(1, std::max(key.m, key.n), key.c, key.bias_alignment);
  const Operand saved(key.saves ? key.m : 0, saved_stride(key.activation, key.n), key.c, key.saved_alignment);
  const GemmOperands operands{.a = a.data(), .b = b.data(), .bias = bias.data(), .saved = saved.data(), .c = c.data()};
  Stopwatch watch(queue.stream);
  size_t best = 0;
  float least = std::numeric_limits<float>::infinity();
  for (size_t candidate = 0; candidate < count; ++candidate) {
    if (!run(candidate, operands)) continue;  // an untimed run first: it loads the kernel
    watch.start();
    for (int i = 0; i < kRuns; ++i) run(candidate, operands);
    const float elapsed = watch.milliseconds();
    if (elapsed < least) {
      least = elapsed;
      best = candidate;
    }
  }
  return best;
}

}  // namespace weft::cuda
