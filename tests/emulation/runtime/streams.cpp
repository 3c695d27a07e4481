// tests/emulation/runtime/streams.cpp: streams and events.
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "tests/emulation/machine/machine.h"
#include "tests/emulation/runtime/capture.h"

using namespace weft::emulation;

struct CUstream_st {
  std::shared_ptr<Queue> queue;
};

using Clock = std::chrono::steady_clock;
struct CUevent_st {
  int device;
  bool is_timed;
  // The last record: a point in a queue's work and the time at which it was reached, or a position in a
  // capture.
  Point point;
  std::shared_ptr<std::optional<Clock::time_point>> time;
  std::shared_ptr<Capture> capture;
  Frontier frontier;
};

namespace {

std::set<cudaStream_t>& streams() {  // existing streams
  static auto* const all = new std::set<cudaStream_t>;
  return *all;
}
std::set<cudaEvent_t>& events() {
  static auto* const all = new std::set<cudaEvent_t>;
  return *all;
}

CUevent_st& event_of(cudaEvent_t event) {
  if (!events().contains(event)) fail(cudaErrorInvalidResourceHandle, "no such event");
  return *event;
}

Work nothing(std::vector<Point> after = {}) {
  return {[](Access&) { return Progress::finished; }, std::move(after)};
}

// Refuses calls that wait for or query a stream or an event that is being captured.
void require_not_captured(const Queue& queue, const char* call) {
  if (queue.capture != nullptr)
    queue.capture->refuse(cudaErrorStreamCaptureUnsupported, std::string(call) + " of a stream that is being captured");
  require_no_capture(call);
}
void require_not_captured(const CUevent_st& event, const char* call) {
  if (event.capture != nullptr) fail(cudaErrorCapturedEvent, std::string(call) + " of an event recorded in a capture");
  require_no_capture(call);
}

void wait_for(Machine::Lock& lock, const Point& point, int device) {
  machine().wait(lock, [&] { return point.reached(); });
  machine().sound_device(device);
}

// Repeated queries execute work, like passing time.
void ask(Machine::Lock& lock, const Point& point, int device) {
  if (!point.reached()) {
    Access access(machine().memories());
    machine().step(lock, access);
  }
  machine().sound_device(device);
  if (!point.reached()) fail(cudaErrorNotReady, "");
}

}  // namespace

std::shared_ptr<Queue> weft::emulation::queue_of(cudaStream_t stream) {
  if (stream == nullptr) return machine().device(current_device()).legacy;
  if (!streams().contains(stream)) fail(cudaErrorInvalidResourceHandle, "no such stream");
  return stream->queue;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return call([&] {
    const auto lock = machine().lock();
    machine().sound_device(current_device());
    if ((flags & ~cudaStreamNonBlocking) != 0) fail(cudaErrorInvalidValue, "flags of cudaStreamCreateWithFlags");
    *stream = new CUstream_st{machine().make_queue(current_device(), (flags & cudaStreamNonBlocking) == 0)};
    streams().insert(*stream);
  });
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  const cudaError_t status = cudaStreamCreateWithFlags(stream, flags);
  if (status == cudaSuccess) (*stream)->queue->priority = priority;
  return status;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {  // does not wait: enqueued work will still run
  return call([&] {
    const auto lock = machine().lock();
    if (stream == nullptr) fail(cudaErrorInvalidResourceHandle, "the null stream cannot be destroyed");
    const auto queue = queue_of(stream);
    if (queue->capture != nullptr)
      queue->capture->refuse(cudaErrorStreamCaptureUnsupported, "cudaStreamDestroy of a stream that is being captured");
    queue->abandoned = true;
    streams().erase(stream);
    delete stream;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call([&] {
    auto lock = machine().lock();
    const auto queue = queue_of(stream);
    require_not_captured(*queue, "cudaStreamSynchronize");
    count(queue->device, {.what = "wait cudaStreamSynchronize"});
    wait_for(lock, {queue, queue->enqueued}, queue->device);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call([&] {
    auto lock = machine().lock();
    const auto queue = queue_of(stream);
    require_not_captured(*queue, "cudaStreamQuery");
    ask(lock, {queue, queue->enqueued}, queue->device);
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call([&] {
    auto lock = machine().lock();
    require_no_capture("cudaDeviceSynchronize");
    const int device = current_device();
    machine().sound_device(device);
    count(device, {.what = "wait cudaDeviceSynchronize"});
    for (const Point& end : machine().ends(device)) wait_for(lock, end, device);
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return call([&] {
    const auto lock = machine().lock();
    const auto queue = queue_of(stream);
    machine().sound_device(queue->device);
    machine().push(queue, {[=](Access& access) {
                     access.close();
                     function(data);
                     return Progress::finished;
                   }});
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return call([&] {
    const auto lock = machine().lock();
    const auto queue = queue_of(stream);
    const CUevent_st& recorded = event_of(event);
    machine().sound_device(queue->device);
    if (flags != cudaEventWaitDefault) fail(cudaErrorNotSupported, "flags of cudaStreamWaitEvent");
    if (recorded.capture != nullptr) {
      if (!recorded.capture->active())
        fail(cudaErrorCapturedEvent, "the event was recorded in a capture that has ended");
      recorded.capture->wait(queue, recorded.frontier);
    } else if (recorded.point.queue != nullptr) {
      if (queue->capture != nullptr)
        queue->capture->refuse(cudaErrorStreamCaptureIsolation, "a captured stream waits for an event from outside");
      machine().push(queue, nothing({recorded.point}));
    }
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call([&] {
    const auto lock = machine().lock();
    machine().sound_device(current_device());
    if ((flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)) != 0)
      fail(cudaErrorNotSupported, "flags of cudaEventCreateWithFlags");
    *event = new CUevent_st{.device = current_device(), .is_timed = (flags & cudaEventDisableTiming) == 0};
    events().insert(*event);
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call([&] {
    const auto lock = machine().lock();
    delete &event_of(event);
    events().erase(event);
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call([&] {
    const auto lock = machine().lock();
    const auto queue = queue_of(stream);
    CUevent_st& recorded = event_of(event);
    machine().sound_device(queue->device);
    if (recorded.device != queue->device) fail(cudaErrorInvalidResourceHandle, "the event is another device's");
    recorded.time.reset();
    recorded.frontier.clear();
    recorded.point = {};
    recorded.capture = queue->capture;
    if (queue->capture != nullptr) {
      recorded.frontier = queue->capture->frontier(*queue);
      return;
    }
    const auto time = recorded.time = std::make_shared<std::optional<Clock::time_point>>();
    recorded.point = machine().push(queue, {[time](Access&) {
                                      *time = Clock::now();
                                      return Progress::finished;
                                    }});
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call([&] {
    auto lock = machine().lock();
    const CUevent_st& recorded = event_of(event);
    require_not_captured(recorded, "cudaEventSynchronize");
    count(recorded.device, {.what = "wait cudaEventSynchronize"});
    wait_for(lock, Point(recorded.point), recorded.device);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call([&] {
    auto lock = machine().lock();
    const CUevent_st& recorded = event_of(event);
    require_not_captured(recorded, "cudaEventQuery");
    ask(lock, Point(recorded.point), recorded.device);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call([&] {
    const auto lock = machine().lock();
    const CUevent_st &from = event_of(start), &to = event_of(end);
    if (!from.is_timed || !to.is_timed || from.time == nullptr || to.time == nullptr)
      fail(cudaErrorInvalidResourceHandle, "cudaEventElapsedTime of events that were not recorded with the time");
    if (!from.point.reached() || !to.point.reached()) fail(cudaErrorNotReady, "");
    *milliseconds = std::chrono::duration<float, std::milli>(**to.time - **from.time).count();
  });
}
