// trainer/bench/bench.h: the measurements of `weft bench`, which all ranks make together (docs/hardware/bench.md).
#pragma once

#include <string>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/cpu/peak.h"
#include "trainer/bench/all_reduce_rates.h"
#include "trainer/bench/gemm_rates.h"
#include "trainer/bench/kernel_rates.h"
#include "trainer/bench/machine_load.h"
#include "trainer/bench/step_times.h"
#include "trainer/config/run_config.h"

namespace weft {

struct BenchReport {
  RunConfig config;  // resolved, except for its data
  RankDevice own;
  int ranks = 1, threads = 1;
  int64_t parameters = 0;
  std::vector<PeakRate> peaks;                       // for this rank
  double peak_f32 = 0, peak_bf16 = 0, peak_f16 = 0;  // the best peaks, summed over ranks; 0: no such instruction
  std::vector<GemmRate> products;
  std::vector<CopyRate> copies;     // for this rank
  std::vector<KernelRate> kernels;  // for this rank
  StepTimes step;
  std::vector<AllReduceRate> all_reduce;
  LoadReport load;

  std::string device_name() const;
  double rank_peak() const;  // this rank's peak in the precision of its GEMMs; peak() sums over all ranks
  double peak() const;
  double tokens_per_second() const { return static_cast<double>(step.target_tokens) / step.seconds; }
  double flops_per_second() const { return step.flops / step.seconds; }
  double mfu() const { return flops_per_second() / peak(); }
};

inline constexpr int64_t kBenchVocabulary = 8000, kBenchRows = 1536;

// Fills in the options that depend on the data and the ranks: grid, vocabularies (kBenchVocabulary by default), source
// rows, blocks (0: one per data-parallel rank), precision. All ranks call it.
RunConfig resolve_bench(RunConfig config, Communicator& world, const RankDevice& own = {});

// Measures for about `seconds`, but makes each measurement at least once. REQUIRES: `config` comes from resolve_bench.
BenchReport measure_machine(const RunConfig& config, Communicator& world, double seconds, const RankDevice& own = {});

}  // namespace weft
