// tests/tensor/on_device.h: runs ops on host tensors on the context's device: the ops::gemm(...) of these
// tests.
//
// On the CPU it is the op itself. For a GPU it copies the tensors' bytes to device memory, runs the op there,
// and copies all bytes back, so that a test fills and reads its tensors on the host. Overlaps (in-place use,
// parts of a fused tensor) and alignments are the same as on the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tensor/device_scalars.h"
#include "tensor/error.h"
#include "tensor/memory.h"
#include "tests/tensor/op/op_tensors.h"

namespace weft::testing {

class DeviceCopies {
 public:
  // Points the tensors at copies of their bytes on ctx's device; a dry run has neither memory nor copies.
  DeviceCopies(Context& ctx, const std::vector<Tensor*>& tensors) : ctx_(ctx) {
    if (!ctx.dry_run()) copy(tensors);
    for (Tensor* t : tensors) {
      t->device = ctx.device();
      t->data = extent(*t) == 0 || ctx.dry_run() ? nullptr : address_of(t->data);
    }
  }
  void bring_back() {
    for (const Range& r : ranges_) {
      std::vector<std::byte> all(r.lead + r.bytes());
      ctx_.runtime().download(r.memory.data(), all.data(), all.size());
      require(std::all_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(r.lead),
                          [](std::byte b) { return b == kUntouched; }),
              ErrorKind::internal, "an op wrote before the first byte of its tensors");
      std::copy(all.begin() + static_cast<std::ptrdiff_t>(r.lead), all.end(), r.begin);
    }
  }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr std::byte kUntouched{0xFF};  // NaN in every float type

  struct Range {  // host memory, and its copy at offset `lead` of device memory that ends with the range
    std::byte *begin, *end;
    size_t lead = 0;
    Buffer memory;
    size_t bytes() const { return static_cast<size_t>(end - begin); }
  };

  void copy(const std::vector<Tensor*>& tensors) {
    std::vector<std::pair<std::byte*, std::byte*>> spans;
    for (const Tensor* t : tensors) {
      auto* const begin = static_cast<std::byte*>(t->data);
      if (begin != nullptr && extent(*t) > 0) spans.emplace_back(begin, begin + extent(*t));
    }
    std::sort(spans.begin(), spans.end());
    for (const auto& [begin, end] : spans) {
      if (!ranges_.empty() && begin < ranges_.back().end)
        ranges_.back().end = std::max(ranges_.back().end, end);
      else
        ranges_.push_back({begin, end});
    }
    for (Range& r : ranges_) {
      r.lead = reinterpret_cast<size_t>(r.begin) % kAlignment;
      std::vector<std::byte> all(r.lead, kUntouched);
      all.insert(all.end(), r.begin, r.end);
      r.memory = Buffer(all.size(), ctx_.device());
      ctx_.runtime().upload(all.data(), r.memory.data(), all.size());
    }
  }
  void* address_of(void* host) const {
    auto* const p = static_cast<std::byte*>(host);
    for (const Range& r : ranges_)
      if (r.begin <= p && p < r.end) return static_cast<std::byte*>(r.memory.data()) + r.lead + (p - r.begin);
    return nullptr;
  }

  Context& ctx_;
  std::vector<Range> ranges_;
};

template <typename Arguments>
void run_on_device(Context& ctx, Arguments a, void (*op)(Context&, const Arguments&)) {
  if (ctx.device() == Device::cpu) return op(ctx, a);
  const OpPointers pointers(a);
  DeviceCopies copies(ctx, pointers.tensors);
  std::vector<DeviceScalars> scalars;
  for (const StepScalars** s : pointers.step_scalars) {
    scalars.emplace_back(ctx.device()).set(ctx, **s);
    *s = scalars.back().get();
  }
  op(ctx, a);
  copies.bring_back();
}

namespace ops {  // hides the functions of weft::ops inside weft::testing, but not its types and constants
using namespace weft::ops;
#define WEFT_OP_ON_DEVICE(function, Arguments, ...) \
  inline void function(Context& ctx, const weft::ops::Arguments& a) { run_on_device(ctx, a, &weft::ops::function); }
WEFT_OPS(WEFT_OP_ON_DEVICE)
#undef WEFT_OP_ON_DEVICE
}  // namespace ops

}  // namespace weft::testing
