// tests/emulation/nccl/nccl.cpp: NCCL's calls for the emulated device, of non-blocking communicators.
//
// As in NCCL, ncclCommAbort and ncclCommDestroy wait until all graphs with a collective of the communicator
// are destroyed. An abort first ends running collectives; in a group those of all its communicators.
//
// Stricter than NCCL, so that mistakes show: tensors must be in memory of the communicator's device, calls on
// a communicator must not overlap and must use one stream, and a call's work is on the stream only after
// ncclCommGetAsyncError has reported it.
#include <nccl.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/emulation/nccl/background.h"
#include "tests/emulation/nccl/collective.h"
#include "tests/emulation/runtime/device.h"

struct ncclComm {
  enum class State { connecting, ready, issuing, finishing };

  std::shared_ptr<weft::emulation::Background> background;
  std::shared_ptr<weft::emulation::Member> member;  // also held by its collectives
  State state = State::connecting;
  std::function<cudaError_t()> issue;
  cudaStream_t stream = nullptr;
  std::atomic<bool> in_call = false;
};

namespace weft::emulation {
namespace {

ncclResult_t refuse(ncclResult_t result, const std::string& text) {
  set_last_error(text);
  return result;
}

// A call on a communicator; refuses overlapping calls.
template <typename Call>
ncclResult_t in_call(ncclComm_t comm, const Call& call) {
  if (comm == nullptr) return refuse(ncclInvalidArgument, "there is no communicator");
  if (comm->in_call.exchange(true)) {
    comm->member->fail(ncclInvalidUsage, "two threads call NCCL on one communicator at once");
    return ncclInvalidUsage;
  }
  ncclResult_t result;
  try {
    result = call();
  } catch (const std::exception& e) {
    result = refuse(ncclSystemError, e.what());
  }
  comm->in_call = false;
  return result;
}

std::shared_ptr<Background> shared_background() {
  static std::mutex mutex;
  static std::weak_ptr<Background> existing;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Background> background = existing.lock();
  if (!background) existing = background = std::make_shared<Background>();
  return background;
}

// Held by a running collective or a graph.
bool is_held(const ncclComm& comm) { return comm.member.use_count() > 1; }

void destroy(ncclComm_t comm) {
  comm->issue = nullptr;
  while (is_held(*comm))
    if (!advance()) std::this_thread::yield();
  comm->member->leave();
  delete comm;
}

thread_local int open_groups = 0;
thread_local std::vector<ncclComm_t> aborted_comms;  // in the open group
thread_local ncclComm_t grouped_comm = nullptr;      // with calls in the open group; one at most

void destroy_aborted() {
  for (const ncclComm_t comm : std::exchange(aborted_comms, {})) destroy(comm);
}

// The first query of the state executes the request, the second reports it as done.
ncclResult_t next_state(ncclComm& comm) {
  using State = ncclComm::State;
  if (comm.member->error() != ncclSuccess) return comm.member->error();
  switch (comm.state) {
    case State::connecting: {
      const ncclResult_t result = comm.member->connect();
      if (result == ncclSuccess) comm.state = State::ready;
      return result;
    }
    case State::issuing: {
      const cudaError_t status = std::exchange(comm.issue, nullptr)();
      comm.state = State::ready;
      if (status != cudaSuccess) comm.member->fail(ncclUnhandledCudaError, cudaGetErrorString(status));
      return ncclInProgress;
    }
    case State::finishing:
      if (!is_held(comm)) return ncclSuccess;
      advance();
      return ncclInProgress;
    case State::ready:
      return ncclSuccess;
  }
  return ncclInternalError;
}

ncclResult_t accepted() {  // into the open group; both answers are allowed
  thread_local bool progresses = false;
  progresses = !progresses;
  return progresses ? ncclInProgress : ncclSuccess;
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status == cudaStreamCaptureStatusActive;
}

ncclResult_t submit(ncclComm_t comm, Call call, const void* from, size_t from_parts, void* to, size_t to_parts,
                    cudaStream_t stream) {
  return in_call(comm, [&] {
    Member& member = *comm->member;
    if (member.error() != ncclSuccess) return member.error();
    const bool joins = open_groups > 0 && grouped_comm == comm;
    if (comm->state != ncclComm::State::ready && !joins)
      return refuse(ncclInvalidArgument, "the communicator is used before its last call is done");
    if (call.count == 0) return ncclSuccess;
    const size_t bytes = call.count * size_of(static_cast<ncclDataType_t>(call.type));
    if (!is_device_memory(from, from_parts * bytes, member.device()) ||
        !is_device_memory(to, to_parts * bytes, member.device()))
      return refuse(ncclInvalidArgument, "a tensor does not lie in the device's memory");
    if (comm->stream != nullptr && comm->stream != stream)
      return refuse(ncclInvalidUsage, "a communicator's collectives are on different streams");
    comm->stream = stream;
    call.is_recorded = is_capturing(stream);
    const auto collective = std::make_shared<Collective>(comm->member, call, from, to);
    const Counted counted{.what = name_of(call.kind), .bytes = from_parts * bytes};
    comm->issue = [stream, collective, counted, earlier = comm->issue, activity = comm->background->activity()] {
      if (const cudaError_t status = earlier ? earlier() : cudaSuccess; status != cudaSuccess) return status;
      return enqueue_polled(
          stream,
          [collective, activity] {
            ++*activity;
            return collective->poll();
          },
          Reach::all_devices, counted);
    };
    comm->state = ncclComm::State::issuing;
    if (open_groups == 0) return ncclInProgress;
    grouped_comm = comm;
    return accepted();
  });
}

struct Message {  // of an open group
  bool sends = false;
  void* data = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  int peer = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};
thread_local std::vector<Message> open_messages;

ncclResult_t note(const Message& message) {
  if (open_groups == 0) return refuse(ncclInvalidUsage, "the emulated NCCL sends and receives in groups only");
  open_messages.push_back(message);
  return accepted();
}

// The messages of a group: parts of one tensor to all ranks, and parts of another one from all, in rank order.
ncclResult_t submit_exchange(const std::vector<Message>& messages) {
  if (messages.empty()) return ncclSuccess;
  const Message& first = messages.front();
  const auto ranks = static_cast<size_t>(first.comm->member->size());
  const size_t bytes = first.count * size_of(first.type);
  std::byte* base[2] = {};
  size_t next[2] = {};
  for (const Message& m : messages) {
    size_t& i = next[m.sends ? 0 : 1];
    std::byte*& begin = base[m.sends ? 0 : 1];
    if (i == 0) begin = static_cast<std::byte*>(m.data);
    const bool fits = m.comm == first.comm && m.stream == first.stream && m.count == first.count &&
                      m.type == first.type && m.peer == static_cast<int>(i) && m.data == begin + i * bytes;
    if (!fits) return refuse(ncclInvalidUsage, "the emulated NCCL groups the messages of one all-to-all only");
    ++i;
  }
  if (next[0] != ranks || next[1] != ranks) return refuse(ncclInvalidUsage, "a group lacks messages of an all-to-all");
  const Call call{.kind = Kind::all_to_all, .type = first.type, .count = first.count};
  return submit(first.comm, call, base[0], ranks, base[1], ranks, first.stream);
}

}  // namespace
}  // namespace weft::emulation

using namespace weft::emulation;

ncclResult_t ncclGetVersion(int* version) {
  *version = emulated_version();
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  try {
    const std::string name = Segment::create();
    std::strncpy(id->internal, name.c_str(), sizeof id->internal - 1);
    return ncclSuccess;
  } catch (const std::exception& e) {
    return refuse(ncclSystemError, e.what());
  }
}

const char* ncclGetErrorString(ncclResult_t result) {
  constexpr const char* kTexts[] = {"no error",       "unhandled cuda error",      "system error",
                                    "internal error", "invalid argument",          "invalid usage",
                                    "remote error",   "NCCL operation in progress"};
  return kTexts[result];
}

const char* ncclGetLastError(ncclComm_t) { return last_error(); }

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int num_ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (config == nullptr || config->blocking != 0)
    return refuse(ncclInvalidArgument, "the emulated NCCL has non-blocking communicators only");
  if (num_ranks < 1 || num_ranks > kMaxRanks || rank < 0 || rank >= num_ranks)
    return refuse(ncclInvalidArgument, "no such rank");
  try {
    auto made = std::make_unique<ncclComm>();
    made->background = shared_background();
    made->member = std::make_shared<Member>(id.internal, rank, num_ranks);
    *comm = made.release();
    return ncclInProgress;
  } catch (const std::exception& e) {
    return refuse(ncclSystemError, e.what());
  }
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  return in_call(comm, [&] {
    *state = next_state(*comm);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return in_call(comm, [&] {
    if (comm->state != ncclComm::State::ready)
      return refuse(ncclInvalidArgument, "finalized before the last call is done");
    comm->state = ncclComm::State::finishing;
    return ncclInProgress;
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  destroy(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm->in_call.exchange(true)) {
    std::fputs("ncclCommAbort while another thread calls NCCL\n", stderr);
    std::abort();
  }
  comm->member->abort();
  aborted_comms.push_back(comm);
  if (open_groups == 0) destroy_aborted();
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++open_groups;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (--open_groups > 0) return ncclSuccess;
  destroy_aborted();
  if (std::exchange(grouped_comm, nullptr) != nullptr && open_messages.empty()) return ncclInProgress;
  return submit_exchange(std::exchange(open_messages, {}));
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return note({.sends = true,
               .data = const_cast<void*>(from),
               .count = count,
               .type = type,
               .peer = peer,
               .comm = comm,
               .stream = stream});
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return note({.data = to, .count = count, .type = type, .peer = peer, .comm = comm, .stream = stream});
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  const Call call{.kind = Kind::all_reduce, .type = type, .op = op, .count = count};
  return submit(comm, call, from, 1, to, 1, stream);
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  const size_t parts = comm == nullptr ? 1 : static_cast<size_t>(comm->member->size());
  return submit(comm, {.kind = Kind::all_gather, .type = type, .count = count}, from, 1, to, parts, stream);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  const size_t parts = comm == nullptr ? 1 : static_cast<size_t>(comm->member->size());
  const Call call{.kind = Kind::reduce_scatter, .type = type, .op = op, .count = count};
  return submit(comm, call, from, parts, to, 1, stream);
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  const Call call{.kind = Kind::broadcast, .type = type, .root = root, .count = count};
  return submit(comm, call, from, 1, to, 1, stream);
}
