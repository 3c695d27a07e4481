// tensor/cuda/gemm/gemm_tuning.cpp: times work as a CUDA graph, which is how steps run by default, if the GPU can
// record it.
#include "tensor/cuda/gemm/gemm_tuning.h"

#include <array>
#include <limits>
#include <memory>

#include "tensor/refused_recording.h"

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
  const auto runs = [&] {
    for (int i = 0; i < kRuns; ++i) work();
  };
  std::unique_ptr<Context::Runtime::Recording> recording;
  try {
    recording = run.record(runs);
  } catch (const RefusedRecording&) {  // then steps use no graphs, either
  }
  const auto replay = [&] { recording ? recording->replay() : runs(); };
  Stopwatch watch(run.stream_);
  replay();
  watch.start();
  for (int i = 0; i < kReplays; ++i) replay();
  return watch.milliseconds() / (kRuns * kReplays);
}

}  // namespace weft::cuda
