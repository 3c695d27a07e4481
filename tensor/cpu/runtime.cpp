// tensor/cpu/runtime.cpp: measures scratch memory in a dry run, allocates it once and keeps it; requires the threads.
#include "tensor/cpu/runtime.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <latch>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "tensor/cpu/gemm/gemm.h"
#include "tensor/cpu/gemm/gemm_tiles.h"
#include "tensor/error.h"

namespace weft::cpu {
namespace {

// OpenMP ends the process with its own status if it cannot start a thread, so as many are started before it. Then its
// own threads start, before others of this process take their memory.
void require_threads(int count) {
  static std::atomic<int> started{1};  // the caller is one of them
  if (count <= started) return;
  std::latch end(1);
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<size_t>(count));
  std::string failure;
  try {
    for (int i = 1; i < count; ++i) threads.emplace_back([&] { end.wait(); });
  } catch (const std::system_error& e) {
    failure = e.what();
  }
  end.count_down();
  threads.clear();  // joins them
  if (!failure.empty())
    fail(ErrorKind::io, fmt::format("{} threads cannot be started: {}; raise the limit of processes or memory "
                                    "(ulimit -u, -v, -d), or set fewer threads with OMP_NUM_THREADS",
                                    count, failure));
  started = count;
#pragma omp parallel num_threads(count)
  { std::atomic_thread_fence(std::memory_order_relaxed); }  // a body, so that the region is not removed
}

}  // namespace

void Scratch::reserve(size_t bytes, bool dry_run) {
  bytes_ = std::max(bytes_, bytes);
  if (!dry_run && buffer_.bytes() < bytes_) buffer_ = Buffer(bytes_);
}

Runtime::Runtime(bool dry_run)
    : gemm(std::make_unique<GemmPlans>()),
      gemm_blocks(std::make_unique<GemmBlocks>()),
      dry_run_(dry_run),
      tiles_(has_gemm_tiles()) {
  if (!dry_run) require_threads(num_threads());
}
Runtime::~Runtime() = default;

void Runtime::use_tiles(bool wanted) { tiles_ = wanted && has_gemm_tiles(); }

void Runtime::reserve(const Context::Runtime& dry) {
  const auto& other = static_cast<const Runtime&>(dry);
  for (int use = 0; use < kNumUses; ++use)
    reserve(static_cast<Use>(use), other.scratch_[static_cast<size_t>(use)].bytes());
}

void Runtime::upload(const void* host, void* device, size_t bytes) { std::memcpy(device, host, bytes); }
void Runtime::download(const void* device, void* host, size_t bytes) { std::memcpy(host, device, bytes); }

void Runtime::copy(const void* from, void* to, size_t bytes) {
  const auto parts = static_cast<size_t>(num_threads());
#pragma omp parallel for schedule(static) if (bytes >= kWorthThreads)
  for (size_t part = 0; part < parts; ++part) {
    const size_t begin = bytes * part / parts, end = bytes * (part + 1) / parts;
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
  }
}

size_t Runtime::scratch_bytes() const {
  size_t bytes = 0;
  for (const Scratch& scratch : scratch_) bytes += Buffer::footprint(scratch.bytes());
  return bytes;
}

void Runtime::reserve_scratch(int threads, size_t count) {
  constexpr size_t kLine = 64 / sizeof(float);  // so threads do not share a cache line
  per_thread_ = (count + kLine - 1) / kLine * kLine;
  reserve(kAttention, per_thread_ * static_cast<size_t>(threads) * sizeof(float));
}

std::unique_ptr<Context::Runtime> make_runtime(bool dry_run) { return std::make_unique<Runtime>(dry_run); }

}  // namespace weft::cpu
