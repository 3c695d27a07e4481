// tensor/cuda/attention/attention.cpp: checks the size of attention heads.
#include "tensor/cuda/attention/attention.h"

#include <fmt/format.h>

#include "tensor/cuda/runtime/runtime.h"
#include "tensor/error.h"

namespace weft::cuda {

void attention::require_head_size(int64_t size) {
  if (size <= kMaxHead) return;
  fail(ErrorKind::usage, fmt::format("attention heads have {} columns, but GPUs support at most {}; train with more "
                                     "heads or a smaller model.width",
                                     size, kMaxHead));
}

void measure(Context&, const ops::AttentionForward& a) { attention::require_head_size(a.q.cols() / a.heads); }

void measure(Context&, const ops::AttentionBackward& a) { attention::require_head_size(a.q.cols() / a.heads); }

}  // namespace weft::cuda
