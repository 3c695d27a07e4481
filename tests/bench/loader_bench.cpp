// tests/bench/loader_bench.cpp: speed of the Loader alone, for tests/bench/packing.
//
//   loader_bench PACKED ROWS BLOCKS EPOCHS
//
// Prints one JSON object with the wait for the first step and, for each epoch, target tokens, seconds and the seconds
// of CPU that the process used. The first epoch also opens shards and checks their SHA-256.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include "data/loader.h"

namespace {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() {  // of all threads
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

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

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) throw std::runtime_error("usage: loader_bench PACKED ROWS BLOCKS EPOCHS");
  double begin = wall_seconds(), cpu_begin = cpu_seconds(), first_step = 0;
  weft::Loader loader(argv[1], {.rows = std::atoi(argv[2]), .blocks = std::atoi(argv[3])}, /*seed=*/1, /*dp_rank=*/0,
                      /*dp_size=*/1);
  std::vector<Epoch> epochs(1);
  for (const int64_t wanted = std::atoi(argv[4]);;) {
    const weft::Step step = loader.next();
    if (epochs.size() == 1 && epochs[0].steps == 0) first_step = wall_seconds() - begin;
    if (step.epoch >= static_cast<int64_t>(epochs.size())) {
      const double now = wall_seconds(), cpu_now = cpu_seconds();
      epochs.back().seconds = now - begin, epochs.back().cpu = cpu_now - cpu_begin;
      begin = now, cpu_begin = cpu_now;
      if (step.epoch >= wanted) break;
      epochs.resize(static_cast<size_t>(step.epoch) + 1);
    }
    ++epochs.back().steps, epochs.back().target_tokens += step.num_target_tokens;
  }
  print(epochs, first_step);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "loader_bench: {}\n", e.what());
  return 1;
}
