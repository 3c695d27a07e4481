// trainer/step_totals.cpp: one all-reduce over all ranks that counts each number once.
#include "trainer/step_totals.h"

#include <cmath>

namespace weft {

// Each number is summed over the ranks that hold different parts of it; the other ranks add 0. Losses and tokens
// differ between dp ranks, squares of split parameters between tp ranks; whole parameters are the same everywhere.
// Each rank also reports whether its own sums are finite: they should agree within a dp group, but a rank
// with faulty memory must not take another branch than the others.
StepTotals exchange_totals(const std::vector<double>& sums, const RankReport& own, const Mesh& mesh) {
  enum : size_t {
    kLoss,
    kNll,
    kSource,
    kTarget,
    kDropped,
    kSplit,
    kWhole,
    kNotFinite,
    kSaveNotReady,
    kRequests,
    kBusy = kRequests + 4
  };
  Communicator& world = mesh.world();
  std::vector<double> all(kBusy + static_cast<size_t>(world.size()));
  if (mesh.tp().is_main_rank()) {
    all[kLoss] = sums[0], all[kNll] = sums[1];
    all[kSource] = static_cast<double>(own.source_tokens), all[kTarget] = static_cast<double>(own.target_tokens);
    all[kDropped] = static_cast<double>(own.dropped);
  }
  if (mesh.dp().is_main_rank()) all[kSplit] = sums[2];
  if (world.is_main_rank()) all[kWhole] = sums[3];
  all[kNotFinite] = std::isfinite(sums[2] + sums[3]) ? 0 : 1;
  all[kSaveNotReady] = own.save_is_ready ? 0 : 1;
  all[kRequests + static_cast<size_t>(own.request)] = 1;
  all[kBusy + static_cast<size_t>(world.rank())] = own.busy;
  world.all_reduce(Tensor(all.data(), {static_cast<int64_t>(all.size())}, DType::f64));

  StepTotals totals{.loss = all[kLoss],
                    .nll = all[kNll],
                    .source_tokens = static_cast<int64_t>(all[kSource]),
                    .target_tokens = static_cast<int64_t>(all[kTarget]),
                    .dropped = static_cast<int64_t>(all[kDropped]),
                    .gradient_square = all[kSplit] + all[kWhole]};
  totals.finite = all[kNotFinite] == 0 && std::isfinite(totals.gradient_square);
  totals.save_is_ready = all[kSaveNotReady] == 0;
  for (const StopRequest r : {StopRequest::save, StopRequest::finish, StopRequest::stop})
    if (all[kRequests + static_cast<size_t>(r)] > 0) totals.request = r;
  totals.busy.assign(all.begin() + kBusy, all.end());
  return totals;
}

}  // namespace weft
