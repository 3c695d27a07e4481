// trainer/health/not_finite.cpp: checks the gradients, one parameter at a time.
#include "trainer/health/not_finite.h"

#include <fmt/format.h>

#include "tensor/transfer.h"
#include "trainer/checkpoint/file_layout.h"
#include "trainer/checkpoint/finite.h"

namespace weft {

std::string first_gradient_not_finite(Context& ctx, const ParamStore& params) {
  std::vector<float> copy;
  for (const Param& p : params.params()) {
    if (!p.trains()) continue;
    const std::string found = describe_not_finite(on_host(ctx, p.grad, copy), dims_of(p.grad.shape));
    if (!found.empty()) return fmt::format("{} is {}", p.spec.name, found);
  }
  return "";
}

}  // namespace weft
