// trainer/step_totals.cpp: one all-gather over all ranks, whose numbers each rank adds up.
#include "trainer/step_totals.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace weft {

// Each number is summed over the ranks that hold different parts of it; the other ranks add 0. Losses and tokens
// differ between dp ranks, squares of split parameters between tp ranks; whole parameters are the same everywhere,
// unless each dp rank squares those of its shard.
// Each rank also reports whether its own sums are finite: they should agree within a dp group, but a rank
// with faulty memory must not take another branch than the others.
StepTotals exchange_totals(const std::vector<double>& sums, const RankReport& own, const Mesh& mesh, bool sharded) {
  enum : size_t {
    kLoss,
    kNll,
    kSource,
    kTarget,
    kWeight,
    kDropped,
    kBelowScore,
    kFlops,
    kSplit,
    kWhole,
    kNotFinite,
    kSaveNotReady,
    kRequests,
    kBusy = kRequests + 4,
    kCount
  };
  static_assert(kCount == kStepTotals);
  constexpr size_t kOfCorpus = 3;  // numbers of a corpus
  Communicator& world = mesh.world();
  const size_t size = kCount + kOfCorpus * own.corpora.size();
  std::vector<double> mine(size), total(size);
  if (mesh.tp().is_main_rank()) {
    mine[kLoss] = sums[0], mine[kNll] = sums[1];
    mine[kSource] = static_cast<double>(own.source_tokens), mine[kTarget] = static_cast<double>(own.target_tokens);
    mine[kWeight] = own.target_weight;
    mine[kDropped] = static_cast<double>(own.dropped), mine[kBelowScore] = static_cast<double>(own.below_score);
    mine[kFlops] = own.flops;
    for (size_t i = 0; i < own.corpora.size(); ++i) {
      double* const of_corpus = &mine[kCount + kOfCorpus * i];
      of_corpus[0] = static_cast<double>(own.corpora[i].passed);
      of_corpus[1] = own.corpora[i].nll;
      of_corpus[2] = own.corpora[i].target_weight;
    }
  }
  const bool squares_count = sharded || mesh.dp().is_main_rank();
  if (squares_count) mine[kSplit] = sums[2];
  if (squares_count && mesh.tp().is_main_rank()) mine[kWhole] = sums[3];
  mine[kNotFinite] = std::isfinite(sums[2] + sums[3]) ? 0 : 1;
  mine[kSaveNotReady] = own.save_is_ready ? 0 : 1;
  mine[kRequests + static_cast<size_t>(own.request)] = 1;
  mine[kBusy] = own.busy;
  const auto count = static_cast<int64_t>(size), ranks = static_cast<int64_t>(world.size());
  std::vector<double> all(size * static_cast<size_t>(ranks));
  world.all_gather(Tensor(mine.data(), {count}, DType::f64), Tensor(all.data(), {ranks, count}, DType::f64));

  StepTotals totals;
  for (auto of_rank = all.begin(); of_rank != all.end();
       of_rank += std::ssize(mine)) {  // in order: the same bits everywhere
    for (size_t i = 0; i < size; ++i) total[i] += of_rank[static_cast<std::ptrdiff_t>(i)];
    totals.busy.push_back(of_rank[kBusy]);
  }
  for (size_t i = kCount; i < size; i += kOfCorpus)
    totals.corpora.push_back(
        {.passed = static_cast<int64_t>(total[i]), .nll = total[i + 1], .target_weight = total[i + 2]});
  totals.loss = total[kLoss], totals.nll = total[kNll], totals.flops = total[kFlops];
  totals.source_tokens = static_cast<int64_t>(total[kSource]);
  totals.target_tokens = static_cast<int64_t>(total[kTarget]);
  totals.target_weight = total[kWeight];
  totals.dropped = static_cast<int64_t>(total[kDropped]);
  totals.below_score = static_cast<int64_t>(total[kBelowScore]);
  totals.gradient_square = total[kSplit] + total[kWhole];
  totals.finite = total[kNotFinite] == 0 && std::isfinite(totals.gradient_square);
  totals.save_is_ready = total[kSaveNotReady] == 0;
  for (const StopRequest r : {StopRequest::save, StopRequest::finish, StopRequest::stop})
    if (total[kRequests + static_cast<size_t>(r)] > 0) totals.request = r;
  return totals;
}

}  // namespace weft
