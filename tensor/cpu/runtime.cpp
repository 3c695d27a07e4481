// tensor/cpu/runtime.cpp: scratch memory that grows in the first step and is kept.
#include "tensor/cpu/runtime.h"

#include "tensor/cpu/gemm.h"

namespace weft::cpu {

Runtime::Runtime() : gemm(std::make_unique<GemmPlans>()) {}
Runtime::~Runtime() = default;

void Runtime::reserve_scratch(int threads, size_t count) {
  if (scratch_.size() < static_cast<size_t>(threads)) scratch_.resize(static_cast<size_t>(threads));
  for (Buffer& buffer : scratch_) {
    if (buffer.bytes() < count * sizeof(float)) buffer = Buffer(count * sizeof(float));
  }
}

std::unique_ptr<Context::Runtime> make_runtime() { return std::make_unique<Runtime>(); }

}  // namespace weft::cpu
