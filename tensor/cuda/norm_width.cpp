// tensor/cuda/norm_width.cpp: checks in the dry run that norms are not too wide for GPUs.
#include "tensor/cuda/norm_width.h"

#include <fmt/format.h>

#include "tensor/cuda/runtime/runtime.h"
#include "tensor/error.h"

namespace weft::cuda {

void require_norm_width(int64_t cols) {
  if (cols <= kWidestNorm) return;
  fail(ErrorKind::usage,
       fmt::format("a norm has {} columns, but GPUs support at most {}; use a smaller model.width", cols, kWidestNorm));
}

void measure(Context&, const ops::NormForward& a) { require_norm_width(a.x.cols()); }
void measure(Context&, const ops::NormBackward& a) { require_norm_width(a.x.cols()); }
void measure(Context&, const ops::ResidualNormForward& a) { require_norm_width(a.x.cols()); }
void measure(Context&, const ops::ResidualNormBackward& a) { require_norm_width(a.h.cols()); }

}  // namespace weft::cuda
