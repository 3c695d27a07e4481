// tests/bench/loader_bench.cpp: speed of the Loader alone, for tests/bench/packing.
//
//   loader_bench MIX ROWS BLOCKS EPOCHS [MIN_SCORE]
//   loader_bench PACKED ROWS
//
// The first form prints one JSON object with the wait for the first step and, for each epoch of the first corpus,
// target tokens, seconds and the seconds of CPU that the process used. The first epoch also opens shards and checks
// their SHA-256. MIX is a folder, or folders with weights (data/order/mix.h). With MIN_SCORE: of the pairs that have
// it.
//
// The second prints a table: the wait of one rank for its first step, and the CPU time that a further step costs it, on
// grids of 1 to 1,024 data-parallel ranks with a block each; beside it, that of a run
// with one stream, whose ranks plan every block.
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

#include "data/loader.h"
#include "data/order/min_score.h"
#include "tensor/clock.h"
#include "tests/bench/cpu_seconds.h"
#include "tests/support/open_mix.h"

namespace {

struct Epoch {
  int64_t steps = 0, target_tokens = 0;
  double seconds = 0, cpu = 0;
};

void print(const std::vector<Epoch>& epochs, double first_step) {
  fmt::print("{{\"first_step_seconds\": {}, \"epochs\": [", first_step);
  for (size_t i = 0; i < epochs.size(); ++i)
    fmt::print("{}{{\"steps\": {}, \"target_tokens\": {}, \"seconds\": {}, \"cpu_seconds\": {}}}", i == 0 ? "" : ", ",
               epochs[i].steps, epochs[i].target_tokens, epochs[i].seconds, epochs[i].cpu);
  fmt::print("]}}\n");
}

struct Cost {
  double first_step = 0, cpu = 0;  // seconds
};

weft::BatchConfig batch_of(const weft::Mix& mix, int64_t rows, int64_t blocks) {
  return {.rows = rows, .source_rows = weft::source_rows_for(mix.corpora, rows), .blocks = blocks};
}

Cost cost_of_rank(const std::string& packed, int64_t rows, int dp, bool one_stream) {
  const int steps = one_stream ? 512 / dp + 16 : 512;  // more than are read ahead at a time
  weft::StepCursor start;
  if (one_stream) start = {.num_streams = 1, .next_stream = 0, .streams = {{0, {}}}};
  const double begin = weft::monotonic_seconds();
  const weft::Mix mix = weft::testing::open_mix(packed);
  weft::Loader loader(mix, batch_of(mix, rows, dp), /*seed=*/1, /*dp_rank=*/dp / 2, dp, start);
  loader.next();
  Cost cost{.first_step = weft::monotonic_seconds() - begin};
  for (int i = 0; i < steps; ++i) loader.next();
  const double cpu_begin = weft::cpu_seconds();
  for (int i = 0; i < steps; ++i) loader.next();
  cost.cpu = (weft::cpu_seconds() - cpu_begin) / steps;
  return cost;
}

void print_ranks(const std::string& packed, int64_t rows) {
  fmt::print("  dp   first step, ms   CPU a step, ms   with one stream, ms\n");
  for (const int dp : {1, 4, 16, 64, 256, 1024}) {
    const Cost own = cost_of_rank(packed, rows, dp, false), all = cost_of_rank(packed, rows, dp, true);
    fmt::print("{:4}   {:14.0f}   {:14.2f}   {:21.2f}\n", dp, 1e3 * own.first_step, 1e3 * own.cpu, 1e3 * all.cpu);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 3) return print_ranks(argv[1], std::atoi(argv[2])), 0;
  if (argc != 5 && argc != 6) throw std::runtime_error("usage: loader_bench MIX ROWS [BLOCKS EPOCHS [MIN_SCORE]]");
  std::vector<weft::MixCorpus> corpora = weft::parse_mix("MIX", argv[1]);
  if (argc == 6) weft::set_min_scores("MIN_SCORE", argv[5], corpora);
  double begin = weft::monotonic_seconds(), cpu_begin = weft::cpu_seconds(), first_step = 0;
  const weft::Mix mix = weft::testing::open_mix(std::move(corpora));
  weft::Loader loader(mix, batch_of(mix, std::atoi(argv[2]), std::atoi(argv[3])), /*seed=*/1, /*dp_rank=*/0,
                      /*dp_size=*/1);
  std::vector<Epoch> epochs(1);
  for (const int64_t wanted = std::atoi(argv[4]);;) {
    const weft::Step step = loader.next();
    if (epochs.size() == 1 && epochs[0].steps == 0) first_step = weft::monotonic_seconds() - begin;
    if (step.corpora.front().epoch >= static_cast<int64_t>(epochs.size())) {
      const double now = weft::monotonic_seconds(), cpu_now = weft::cpu_seconds();
      epochs.back().seconds = now - begin, epochs.back().cpu = cpu_now - cpu_begin;
      begin = now, cpu_begin = cpu_now;
      if (step.corpora.front().epoch >= wanted) break;
      epochs.resize(static_cast<size_t>(step.corpora.front().epoch) + 1);
    }
    ++epochs.back().steps, epochs.back().target_tokens += step.target_tokens();
  }
  print(epochs, first_step);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "loader_bench: {}\n", e.what());
  return 1;
}
