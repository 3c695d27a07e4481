// tensor/cuda/gemm/gemm_tuning.cpp: times work as a CUDA graph, which is how steps run by default.
#include "tensor/cuda/gemm/gemm_tuning.h"

#include <array>
#include <limits>

namespace weft::cuda {
namespace {

class Stopwatch {  // times the work on a stream
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
  float milliseconds() {  // since start; waits for the device
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

// While the GPU works on the first replay, the host enqueues the timed replays.
float time_on_gpu(Runtime& run, const std::function<bool()>& work) {
  constexpr int kRuns = 5, kReplays = 3;
  if (!work()) return std::numeric_limits<float>::infinity();  // not timed, because it loads the kernels
  const auto recording = run.record([&] {
    for (int i = 0; i < kRuns; ++i) work();
  });
  Stopwatch watch(run.stream_);
  recording->replay();
  watch.start();
  for (int i = 0; i < kReplays; ++i) recording->replay();
  return watch.milliseconds() / (kRuns * kReplays);
}

}  // namespace weft::cuda
