// tensor/cpu/runtime.h: defines the CPU backend's state in a Context: GEMM plans and scratch memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/context.h"
#include "tensor/memory.h"
#include "tensor/ops.h"

namespace weft::cpu {

class GemmPlans;   // gemm.cpp
class GemmBlocks;  // gemm_blocks.cpp

// Loops over fewer elements run on the calling thread, because waking the other threads would take longer.
inline constexpr int64_t kWorthThreads = 8192;

// Uninitialized memory for one kind of op. It is as large as the largest call needs, and is kept between calls.
class Scratch {
 public:
  void reserve(size_t bytes, bool dry_run);  // only grows; a dry run only records the size
  void* data() const { return buffer_.data(); }
  size_t bytes() const { return bytes_; }

 private:
  Buffer buffer_;
  size_t bytes_ = 0;
};

struct Runtime final : Context::Runtime {
  explicit Runtime(bool dry_run);
  ~Runtime() override;
  void reserve(const Context::Runtime& dry) override;
  size_t scratch_bytes() const override;
  void synchronize() override {}
  void upload(const void* host, void* device, size_t bytes) override;
  void download(const void* device, void* host, size_t bytes) override;
  void copy(const void* from, void* to, size_t bytes) override;

  enum Use { kAttention, kProduct, kWideA, kWideB, kWideC, kRemainingRows, kNumUses };
  void reserve(Use use, size_t bytes) { scratch_[use].reserve(bytes, dry_run_); }
  void* data(Use use) const { return scratch_[use].data(); }

  // Reserves `count` floats per thread for `threads` threads, for attention.
  void reserve_scratch(int threads, size_t count);
  float* scratch(int thread) const {
    return static_cast<float*>(data(kAttention)) + per_thread_ * static_cast<size_t>(thread);
  }

  std::unique_ptr<GemmPlans> gemm;
  std::unique_ptr<GemmBlocks> gemm_blocks;
  void use_tiles(bool wanted);  // needs AMX; tests turn tiles off to cover other processors' paths
  bool tiles_for(DType storage) const { return tiles_ && storage == DType::bf16; }
  std::vector<uint8_t> marks;  // one per row: 1 for attention's rows that belong to a sentence

 private:
  bool dry_run_, tiles_;
  std::array<Scratch, kNumUses> scratch_;
  size_t per_thread_ = 0;  // floats
};

std::unique_ptr<Context::Runtime> make_runtime(bool dry_run);
inline Runtime& runtime(Context& ctx) { return static_cast<Runtime&>(ctx.runtime()); }

// These are ops::packed_numel, ops::inference_numel and ops::saved_numel of this backend.
int64_t packed_numel(DType storage, int64_t k, int64_t n);
int64_t inference_numel(DType storage, int64_t k, int64_t n);
int64_t saved_numel(Activation activation, DType storage, int64_t rows, int64_t cols);

// In a dry run, measure() reserves the scratch memory of an op. Most ops need no scratch memory.
template <typename Arguments>
void measure(Context&, const Arguments&) {}
void measure(Context& ctx, const ops::Gemm& a);
void measure(Context& ctx, const ops::AttentionForward& a);
void measure(Context& ctx, const ops::AttentionBackward& a);

}  // namespace weft::cpu
