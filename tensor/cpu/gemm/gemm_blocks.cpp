// tensor/cpu/gemm/gemm_blocks.cpp: divides a GEMM into blocks of rows, each computed by one thread.
//
// oneDNN's kernels for AVX2 and SSE4.1 process six rows at a time, and use different code for 1, 2 or 3 remaining rows,
// for a single row and for larger matrices. Because threads may get any number of rows, a row's bits would depend on
// the rows around it. In full groups of six rows, up to kMaxRows, every row is computed the same way.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "tensor/cpu/gemm/gemm.h"
#include "tensor/cpu/runtime.h"

namespace weft::cpu {

namespace {

constexpr int64_t kStep = 6, kMaxRows = 72;  // oneDNN would split more rows, not always into full groups of six

ops::Gemm part_of(const ops::Gemm& a, int64_t first, int64_t rows) {
  ops::Gemm part = a;
  part.a = a.trans_a ? a.a.slice_cols(first, rows) : a.a.slice_rows(first, rows);
  part.c = a.c.slice_rows(first, rows);
  return part;
}

// Returns the same GEMM with kStep rows, and with a and c in `memory`.
ops::Gemm padded(const ops::Gemm& a, void* memory) {
  ops::Gemm part = a;
  part.c = Tensor(memory, {kStep, a.c.cols()});
  float* const after_c = part.c.ptr<float>() + (memory ? part.c.numel() : 0);
  part.a = Tensor(after_c, a.trans_a ? Shape{a.a.rows(), kStep} : Shape{kStep, a.a.cols()});
  return part;
}

void copy(const Tensor& from, const Tensor& to) {  // copies into the first rows and columns
  for (int64_t r = 0; r < from.rows(); ++r) {
    std::memcpy(to.ptr<float>() + r * to.row_stride, from.ptr<float>() + r * from.row_stride,
                static_cast<size_t>(from.cols()) * sizeof(float));
  }
}

struct Blocks {
  int64_t whole, rows, remaining;  // rows in full groups of six; rows per block; remaining rows
  explicit Blocks(int64_t m) : whole(m / kStep * kStep), remaining(m - whole) {
    const int64_t share = (whole / kStep + num_threads() - 1) / num_threads() * kStep;
    rows = std::clamp(share, kStep, kMaxRows);
  }
  int64_t count() const { return (whole + rows - 1) / rows; }
  int64_t rows_of(int64_t block) const { return std::min(rows, whole - block * rows); }
};

}  // namespace

void GemmBlocks::reserve(Runtime& run, const ops::Gemm& a) {
  const int threads = num_threads();
  while (plans_.size() < static_cast<size_t>(threads)) plans_.push_back(std::make_unique<GemmPlans>());
  const Blocks blocks(a.c.rows());
  size_t bytes = 0;
  {
    const UseThreads one(1);
    const auto take_note = [&](const ops::Gemm& part) { bytes = std::max(bytes, plans_[0]->scratch_bytes(part)); };
    if (blocks.whole > 0) {
      take_note(part_of(a, 0, blocks.rows));
      take_note(part_of(a, 0, blocks.rows_of(blocks.count() - 1)));
    }
    if (blocks.remaining > 0) take_note(padded(a, nullptr));
  }
  bytes_ = (bytes + 63) / 64 * 64;
  run.reserve(Runtime::kProduct, bytes_ * static_cast<size_t>(threads));
  const ops::Gemm rest = padded(a, nullptr);
  run.reserve(Runtime::kRemainingRows, rest.a.bytes() + rest.c.bytes());
}

void GemmBlocks::run(Runtime& run, const ops::Gemm& a) {
  const Blocks blocks(a.c.rows());
  const bool worth_threads = a.c.numel() * (a.trans_a ? a.a.rows() : a.a.cols()) >= kWorthThreadsProduct;
  std::exception_ptr error;  // an exception must not leave the parallel region
#pragma omp parallel if (worth_threads)
  {
    const UseThreads one(1);
    const int thread = omp_get_thread_num();
    const auto multiply = [&](const ops::Gemm& part) {
      try {
        plans_[thread]->run(part,
                            static_cast<char*>(run.data(Runtime::kProduct)) + bytes_ * static_cast<size_t>(thread));
      } catch (...) {
#pragma omp critical(weft_gemm_blocks)
        error = std::current_exception();
      }
    };
#pragma omp for schedule(static) nowait
    for (int64_t i = 0; i < blocks.count(); ++i) multiply(part_of(a, i * blocks.rows, blocks.rows_of(i)));
#pragma omp single
    if (blocks.remaining > 0) {
      const ops::Gemm rest = part_of(a, blocks.whole, blocks.remaining);
      const ops::Gemm product = padded(rest, run.data(Runtime::kRemainingRows));
      copy(rest.a, product.a);
      if (a.accumulate) copy(rest.c, product.c);
      multiply(product);
      copy(product.c.slice_rows(0, blocks.remaining), rest.c);
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace weft::cpu
