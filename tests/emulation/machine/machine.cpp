// tests/emulation/machine/machine.cpp: the scheduler of the emulated devices.
#include "tests/emulation/machine/machine.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "tests/emulation/machine/fault.h"
#include "tests/emulation/runtime/capture.h"

namespace weft::emulation {
namespace {

constexpr int kMaxDevices = 16;
constexpr std::chrono::microseconds kPoll{200};  // interval for polling heads that wait for other processes

uint64_t from_environment(const char* name, uint64_t otherwise, uint64_t most) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (errno != 0 || *end != '\0' || *text == '-' || value > most)
    fail(cudaErrorInvalidValue,
         std::string(name) + "=" + text + ": a number up to " + std::to_string(most) + " is wanted");
  return value;
}

// Fault injection: WEFT_EMULATION_FAULT=DEVICE:NUMBER makes that device's kernel NUMBER, counted from 0,
// fail.
void read_fault(std::vector<std::unique_ptr<Device>>& devices) {
  const char* const text = std::getenv("WEFT_EMULATION_FAULT");
  if (text == nullptr || *text == '\0') return;
  size_t device = 0;
  int64_t number = 0;
  if (std::sscanf(text, "%zu:%" SCNd64, &device, &number) != 2)
    fail(cudaErrorInvalidValue, std::string("WEFT_EMULATION_FAULT=") + text + ": DEVICE:NUMBER is wanted");
  if (device < devices.size()) devices[device]->faulty_launch = number;
}

}  // namespace

Machine::Machine() {
  const uint64_t count = from_environment("WEFT_EMULATION_DEVICES", 1, kMaxDevices);
  const uint64_t bytes = from_environment("WEFT_EMULATION_MEMORY", uint64_t{8} << 30, uint64_t{64} << 30);
  random_ = Random(from_environment("WEFT_EMULATION_SEED", 1, UINT64_MAX));
  for (uint64_t i = 0; i < count; ++i) {
    devices_.push_back(std::make_unique<Device>(bytes));
    memories_.push_back(&devices_.back()->memory);
    devices_.back()->legacy = make_queue(static_cast<int>(i), false);
    devices_.back()->legacy->is_legacy = true;
  }
  read_fault(devices_);
}

Machine& machine() {
  static Machine* const instance = [] {  // never destroyed: destructors of static objects may still use it
    auto* const made = new Machine;
    explain_faults();
    return made;
  }();
  return *instance;
}

Device& Machine::device(int index) {
  if (devices_.empty()) fail(cudaErrorNoDevice, "WEFT_EMULATION_DEVICES=0");
  if (index < 0 || index >= num_devices())
    fail(cudaErrorInvalidDevice, "device " + std::to_string(index) + " of " + std::to_string(num_devices()));
  return *devices_[static_cast<size_t>(index)];
}

Device& Machine::sound_device(int index) {
  Device& found = device(index);
  if (!found.fault.empty()) fail(cudaErrorLaunchFailure, found.fault);
  return found;
}

int Machine::device_of(const void* data) const {
  const auto found = std::ranges::find_if(memories_, [&](const DeviceMemory* m) { return m->spans(data); });
  return found == memories_.end() ? -1 : static_cast<int>(found - memories_.begin());
}

void Machine::seed(uint64_t seed) {
  const std::scoped_lock lock(random_mutex_);
  random_ = Random(seed);
}

uint64_t Machine::draw() {
  const std::scoped_lock lock(random_mutex_);
  return random_.next();
}

std::shared_ptr<Queue> Machine::make_queue(int device, bool is_blocking) {
  auto queue = std::make_shared<Queue>();
  queue->device = device;
  queue->is_blocking = is_blocking;
  queues_.push_back(queue);
  return queue;
}

// The null stream waits for every blocking stream, and vice versa.
void Machine::order_with_legacy(const Queue& queue, Work& work) const {
  for (const auto& other : queues_) {
    if (other->device != queue.device || other->finished == other->enqueued) continue;
    if (queue.is_legacy ? other->is_blocking : queue.is_blocking && other->is_legacy)
      work.after.push_back({other, other->enqueued});
  }
}

Point Machine::push(const std::shared_ptr<Queue>& queue, Work work) {
  if (queue->capture != nullptr) {
    queue->capture->add(*queue, std::move(work));
    return {};
  }
  if (queue->is_legacy)
    for (const auto& other : queues_)
      if (other->device == queue->device && other->is_blocking && other->capture != nullptr)
        other->capture->refuse(cudaErrorStreamCaptureImplicit, "work on the null stream");
  order_with_legacy(*queue, work);
  queue->work.push_back(std::move(work));
  changed_.notify_all();
  return {queue, ++queue->enqueued};
}

bool Machine::may_run(const Queue& queue) const {
  return !queue.running && !queue.work.empty() && queue.blocked_in != round_ &&
         std::ranges::all_of(queue.work.front().after, &Point::reached);
}

std::shared_ptr<Queue> Machine::choose() {
  std::erase_if(queues_, [](const auto& queue) { return queue->abandoned && queue->work.empty(); });
  std::shared_ptr<Queue> chosen;
  uint64_t candidates = 0;
  for (const auto& queue : queues_)
    if (may_run(*queue) && draw() % ++candidates == 0) chosen = queue;
  return chosen;
}

Progress Machine::perform(Lock& lock, Queue& queue, Access& access) {
  Device& device = *devices_[static_cast<size_t>(queue.device)];
  Work& work = queue.work.front();
  Progress progress = Progress::finished;
  if (device.fault.empty()) {
    std::string fault;
    queue.running = true;
    lock.unlock();
    try {
      progress = work.run(access);
    } catch (const std::exception& error) {
      fault = error.what();
    }
    lock.lock();
    queue.running = false;
    if (device.fault.empty()) device.fault = fault;
  }
  if (progress == Progress::finished) {
    count(queue.device, work.counted);
    queue.work.pop_front();
    ++queue.finished;
  }
  if (progress == Progress::blocked) {
    queue.blocked_in = round_;
  } else {
    ++round_;
    changed_.notify_all();
  }
  return progress;
}

std::optional<Progress> Machine::step(Lock& lock, Access& access) {
  const std::shared_ptr<Queue> queue = choose();
  if (queue == nullptr) {
    ++round_;  // polls heads that wait for another process again
    return std::nullopt;
  }
  return perform(lock, *queue, access);
}

// Waits for a change by another thread, or for the next poll.
void Machine::sleep(Lock& lock) { changed_.wait_for(lock, kPoll); }

void Machine::wait(Lock& lock, const std::function<bool()>& done) {
  Access access(memories_);
  while (!done()) {
    if (step(lock, access)) continue;
    access.close();
    if (std::ranges::all_of(queues_, [](const auto& queue) { return queue->work.empty(); }))
      fail(cudaErrorUnknown, "waits for what nobody was asked to do");
    sleep(lock);
  }
}

std::vector<Point> Machine::ends(int device) const {
  std::vector<Point> ends;
  for (const auto& queue : queues_)
    if (queue->device == device) ends.push_back({queue, queue->enqueued});
  return ends;
}

void Machine::settle(Lock& lock) {
  Access access(memories_);
  for (;;) {
    while (step(lock, access)) continue;
    access.close();
    if (std::ranges::none_of(queues_, [](const auto& queue) { return queue->running; })) return;
    changed_.wait_for(lock, kPoll);
  }
}

void Machine::drop_work(Lock& lock, int device) {
  for (const auto& queue : std::vector(queues_)) {
    if (queue->device != device) continue;
    while (queue->running) changed_.wait_for(lock, kPoll);
    queue->work.clear();
    queue->finished = queue->enqueued;
  }
}

void set_seed(uint64_t seed) { machine().seed(seed); }

bool advance() {
  Machine& all = machine();
  auto lock = all.lock();
  Access access(all.memories());
  while (const auto progress = all.step(lock, access))
    if (*progress != Progress::blocked) return true;
  return false;
}

bool is_device_memory(const void* data, size_t bytes, int device) {
  const int owner = machine().device_of(data);
  return owner >= 0 && (device < 0 || device == owner) &&
         machine().memories()[static_cast<size_t>(owner)]->holds(data, bytes);
}

bool is_pinned_memory(const void* data, size_t bytes) { return machine().pinned().holds(data, bytes); }

cudaError_t enqueue_polled(cudaStream_t stream, std::function<bool()> poll, Reach reach, Counted counted) {
  return call([&] {
    const auto lock = machine().lock();
    const auto queue = queue_of(stream);
    machine().sound_device(queue->device);
    machine().push(queue, {.run =
                               [poll = std::move(poll), reach, device = queue->device](Access& access) {
                                 reach == Reach::device ? access.open(device) : access.open_all();
                                 return poll() ? Progress::finished : Progress::blocked;
                               },
                           .counted = std::move(counted)});
  });
}

cudaError_t enqueue(cudaStream_t stream, std::function<void()> job, Reach reach, Counted counted) {
  return enqueue_polled(
      stream,
      [job = std::move(job)] {
        job();
        return true;
      },
      reach, std::move(counted));
}

}  // namespace weft::emulation
