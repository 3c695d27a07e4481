// parallel/nccl/marks.cpp: writes marks from a table into host words, and interprets the words.
#include "parallel/nccl/marks.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "parallel/nccl/check.h"
#include "tensor/error.h"

namespace weft::nccl {
namespace {

constexpr int64_t kRing = 4096;  // collectives outside graphs that may be in progress at once

// In graphs, collectives of one kind use kTurns numbers in rotation, so that consecutive marks differ.
constexpr int64_t kKinds = 1024, kTurns = 4;

enum Word { kOutside, kInGraphs, kNumWords };

uint32_t load(const uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status == cudaStreamCaptureStatusActive;
}

bool same_kind(const CollectiveCall& a, const CollectiveCall& b) {
  return std::string_view(a.name) == b.name && a.bytes == b.bytes && a.rank == b.rank && a.size == b.size;
}

}  // namespace

Marks::Marks() : ring_(kRing) {
  std::vector<uint32_t> numbers(kRing + 2 * kKinds * kTurns);
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
  cudaFree(table_);
  cudaFreeHost(words_);
}

// CUDA calls may wait for a hanging stream. So no CUDA call is made under the lock, which the watchdog needs.

void Marks::begin(const CollectiveCall& collective, cudaStream_t stream) {
  capturing_ = is_capturing(stream);
  if (capturing_) {
    captured_number_ = next_captured_number(collective);
    return mark(&words_[kInGraphs], kRing + 2 * captured_number_, stream);
  }
  if (num_issued_ - num_ended() == kRing - 1) check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const std::lock_guard lock(mutex_);
  ring_[static_cast<size_t>(num_issued_++ % kRing)] = collective;
}

void Marks::end(cudaStream_t stream) {
  if (capturing_) return mark(&words_[kInGraphs], kRing + 2 * captured_number_ + 1, stream);
  mark(&words_[kOutside], (num_issued_ - 1) % kRing, stream);
}

std::optional<CollectiveCall> Marks::unfinished() const {
  const std::lock_guard lock(mutex_);
  const uint32_t mark = load(words_[kInGraphs]);
  const int64_t place = static_cast<int64_t>(mark) - 1 - kRing;  // 2 * number, plus 1 if the collective has ended
  if (mark == 0 || place % 2 == 1) {
    const int64_t ended = num_ended();
    if (ended == num_issued_) return {};
    return ring_[static_cast<size_t>(ended % kRing)];
  }
  // A captured collective is running, so it precedes all enqueued collectives.
  CollectiveCall replayed = kinds_[static_cast<size_t>(place / 2 / kTurns)].collective;
  replayed.step = step_;  // the captured step is out of date
  return replayed;
}

uint64_t Marks::position() const { return uint64_t{load(words_[kOutside])} << 32 | load(words_[kInGraphs]); }

int64_t Marks::num_ended() const {  // fewer than kRing are in progress, so the mark is unambiguous
  const uint32_t mark = load(words_[kOutside]);
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

void Marks::mark(uint32_t* word, int64_t table_index, cudaStream_t stream) {
  check(cudaMemcpyAsync(word, table_ + table_index, sizeof(uint32_t), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
}

}  // namespace weft::nccl
