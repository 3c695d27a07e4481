// trainer/bench/bench.h: makes the measurements of `weft bench` on all ranks together (docs/hardware/bench.md).
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
  RunConfig config;  // resolved, except for the data options
  RankDevice own;
  int ranks = 1, threads = 1;
  int64_t parameters = 0;
  std::vector<PeakRate> peaks;                       // for this rank
  double peak_f32 = 0, peak_bf16 = 0, peak_f16 = 0;  // best rates, summed over the ranks; 0: no such instructions
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

// Fills in the options that depend on the data and the ranks: the grid, vocabulary sizes (0 becomes kBenchVocabulary),
// source rows, blocks (0 becomes one per data-parallel rank) and precision. All ranks must call this function.
RunConfig resolve_bench(RunConfig config, Communicator& world, const RankDevice& own = {});

// Makes all measurements in about `seconds`, each at least once. REQUIRES: `config` comes from resolve_bench.
BenchReport measure_machine(const RunConfig& config, Communicator& world, double seconds, const RankDevice& own = {});

}  // namespace weft
