// parallel/nccl/marks.cpp: writes marks from a table into host words, and interprets the words.
#include "parallel/nccl/marks.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "parallel/nccl/check.h"
#include "tensor/error.h"

namespace weft::nccl {
namespace {

constexpr int64_t kRing = 4096;  // calls outside graphs that may be in progress at once

// In graphs, collectives of one kind use kTurns numbers in rotation, so that consecutive marks differ.
constexpr int64_t kKinds = 1024, kTurns = 4;

enum Word { kIssued, kInGraphs, kNumWords };

uint32_t load(const uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

bool same_kind(const CollectiveCall& a, const CollectiveCall& b) {
  return std::string_view(a.name) == b.name && a.bytes == b.bytes && a.rank == b.rank && a.size == b.size;
}

}  // namespace

Marks::Marks() : stream_(make_urgent_stream()), issued_(kRing) {
  std::vector<uint32_t> numbers(kRing + kKinds * kTurns);
  std::iota(numbers.begin(), numbers.end(), 1u);
  const size_t bytes = numbers.size() * sizeof(uint32_t);
  void *table = nullptr, *words = nullptr;
  check(cudaMalloc(&table, bytes), "cudaMalloc");
  table_ = static_cast<uint32_t*>(table);
  check(cudaMemcpy(table_, numbers.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  check(cudaStreamSynchronize(nullptr),
        "cudaMemcpy");  // the copy may still be in progress, and other streams do not wait for it
  check(cudaHostAlloc(&words, kNumWords * sizeof(uint32_t), cudaHostAllocDefault), "cudaHostAlloc");
  words_ = static_cast<uint32_t*>(words);
  std::fill_n(words_, kNumWords, 0u);
}

Marks::~Marks() {
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
  cudaFree(table_);
  cudaFreeHost(words_);
}

// CUDA calls may wait for a hanging stream. So no CUDA call is made under the lock, which the watchdog needs.

void Marks::begin(const CollectiveCall& collective, Event& inputs) {
  inputs.hold(stream_);  // during a capture, this includes stream_ in the capture
  capturing_ = is_capturing();
  if (capturing_) return mark(&words_[kInGraphs], kRing + next_captured_number(collective));
  issue({.collective = collective});
}

void Marks::end(Event& done) {
  done.hold(stream_);
  if (!capturing_) mark(&words_[kIssued], (num_issued_ - 1) % kRing);
}

void Marks::join(cudaStream_t capturing) {
  if (!is_capturing()) return;  // the capture contains no collective
  joined_.record(stream_);
  joined_.hold(capturing);
}

void Marks::replayed(int64_t step, cudaStream_t of_graph) {
  issue({.collective = {.step = step}, .is_graph = true});
  replayed_.record(of_graph);
  capturing_ = false;
  end(replayed_);
}

void Marks::issue(const Issued& call) {
  if (num_issued_ - num_ended() == kRing - 1) check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  const std::lock_guard lock(mutex_);
  issued_[static_cast<size_t>(num_issued_++ % kRing)] = call;
}

std::optional<CollectiveCall> Marks::unfinished() const {
  const std::lock_guard lock(mutex_);
  const int64_t ended = num_ended();
  if (ended == num_issued_) return {};
  const Issued& oldest = issued_[static_cast<size_t>(ended % kRing)];
  if (!oldest.is_graph) return oldest.collective;
  const uint32_t mark = load(words_[kInGraphs]);
  if (mark == 0) return {};  // the first graph has not reached a collective
  CollectiveCall running = kinds_[static_cast<size_t>((static_cast<int64_t>(mark) - 1 - kRing) / kTurns)].collective;
  running.step = oldest.collective.step;  // the captured step is out of date
  return running;
}

uint64_t Marks::position() const { return uint64_t{load(words_[kIssued])} << 32 | load(words_[kInGraphs]); }

int64_t Marks::num_ended() const {  // fewer than kRing are in progress, so the mark is unambiguous
  const uint32_t mark = load(words_[kIssued]);
  if (mark == 0) return 0;
  const int64_t behind = (num_issued_ - mark) % kRing;
  return num_issued_ - (behind + kRing) % kRing;
}

int64_t Marks::next_captured_number(const CollectiveCall& collective) {
  const std::lock_guard lock(mutex_);
  auto kind = std::ranges::find_if(kinds_, [&](const Kind& k) { return same_kind(k.collective, collective); });
  if (kind == kinds_.end()) {
    if (std::ssize(kinds_) == kKinds)
      fail(ErrorKind::usage, fmt::format("CUDA graphs contain more than {} kinds of collectives, too many for the "
                                         "watchdog to track: set train.cuda_graph=false",
                                         kKinds));
    kinds_.push_back({.collective = collective});
    kind = kinds_.end() - 1;
  }
  return (kind - kinds_.begin()) * kTurns + kind->num_captured++ % kTurns;
}

void Marks::mark(uint32_t* word, int64_t table_index) {
  check(cudaMemcpyAsync(word, table_ + table_index, sizeof(uint32_t), cudaMemcpyDeviceToHost, stream_),
        "cudaMemcpyAsync");
}

bool Marks::is_capturing() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream_, &status), "cudaStreamIsCapturing");
  return status == cudaStreamCaptureStatusActive;
}

}  // namespace weft::nccl
