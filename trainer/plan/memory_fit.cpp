// trainer/plan/memory_fit.cpp: compares the plan with the free memory, and tries plans with smaller blocks.
#include "trainer/plan/memory_fit.h"

#include "tensor/error.h"
#include "trainer/display/units.h"
#include "trainer/plan/check_options.h"

namespace weft {
namespace {

constexpr int64_t kFewestRows = 64;  // remedy() proposes no smaller blocks

// Returns options with which the run fits: recomputation, or more blocks per step with fewer rows each.
std::string remedy(const RunConfig& config, const TensorParallel& tp, Device device, size_t available) {
  const auto fits = [&](const RunConfig& c) { return plan_tensors(c, tp, device).tensors() <= available; };
  const auto with_recompute = [](RunConfig c) {
    c.train.recompute = true;
    return c;
  };
  if (!config.train.recompute && fits(with_recompute(config))) return "the run fits with --train.recompute";
  for (RunConfig c = config; c.batch.rows / 2 >= kFewestRows && c.batch.source_rows / 2 >= kFewestRows;) {
    c.batch.rows /= 2, c.batch.source_rows /= 2, c.batch.blocks *= 2;
    if (!splits_evenly(c)) break;
    const std::string options = fmt::format("--batch.rows={} --batch.source_rows={} --batch.blocks={}", c.batch.rows,
                                            c.batch.source_rows, c.batch.blocks);
    if (fits(c)) return "the run fits with " + options;
    if (fits(with_recompute(c))) return fmt::format("the run fits with --train.recompute {}", options);
  }
  return fmt::format("smaller blocks do not fit either: use a smaller model, or more {} and a higher parallel.tp",
                     device == Device::cuda ? "GPUs" : "machines");
}

}  // namespace

std::string require_fit(const RunConfig& config, const TensorParallel& tp, Device device, size_t available,
                        const std::string& gpu) {
  const size_t needed = plan_tensors(config, tp, device).tensors();
  if (needed + kRoomForLibraries <= available) return "";
  if (needed <= available) {
    const size_t roomy = available > kRoomForLibraries ? available - kRoomForLibraries : 0;
    return fmt::format(
        "only {} of GPU memory is left for CUDA's libraries and NCCL, which may need more; with {} reserved for them, "
        "{}",
        format_bytes(available - needed), format_bytes(kRoomForLibraries), remedy(config, tp, device, roomy));
  }
  fail(ErrorKind::usage, fmt::format("a rank needs {} of GPU memory, which is {} more than the {} available on {}; {}",
                                     format_bytes(needed), format_bytes(needed - available), format_bytes(available),
                                     gpu, remedy(config, tp, device, available)));
}

void require_fit_on_host(const RunConfig& config, const TensorParallel& tp, const MemoryPlan& plan, size_t allowed) {
  if (plan.total() <= allowed) return;
  const size_t rest = plan.total() - plan.tensors();
  fail(ErrorKind::usage,
       fmt::format("a rank needs {} of memory, but this machine or its control group allows only {}; {}",
                   format_bytes(plan.total()), format_bytes(allowed),
                   remedy(config, tp, Device::cpu, allowed > rest ? allowed - rest : 0)));
}

std::string require_fit_on_gpu(const RunConfig& config, const TensorParallel& tp, const RankDevice& own) {
  const DeviceProperties gpu = device_properties(own.device);
  return require_fit(config, tp, own.device, gpu.free_memory / static_cast<size_t>(own.num_sharing),
                     fmt::format("device {}, {}", own.index, gpu.name));
}

}  // namespace weft
