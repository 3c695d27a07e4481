// tests/bench/ranks_bench.cpp: what each phase of a run costs a rank as their number grows.
//
//   ranks_bench [MOST]
//
// Trains a tiny model with a block for each of 1, 4, 16, ... MOST (1,024) data-parallel ranks, which are threads of
// this process, and prints the CPU time of each phase divided by the ranks, in milliseconds. A phase whose cost for one
// rank grows with the number of ranks shows as a column that grows. Threads take turns on few cores: all-reduces among
// them, which copy and wait, are in a column of their own. Then prints what a rank parses of a checkpoint's state.json
// when it resumes: all streams, as the main rank, or its own.
#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/bench/cpu_seconds.h"
#include "tests/support/open_mix.h"
#include "tests/support/small_run.h"

namespace weft {
namespace {

// CPU seconds of all ranks in one phase, on the main rank.
double cost(Communicator& world, const std::function<void()>& phase) {
  world.barrier();
  const double begin = cpu_seconds();
  phase();
  world.barrier();
  return cpu_seconds() - begin;
}

struct Costs {
  double start = 0, plan = 0, step = 0, all_reduce = 0, save = 0, resume = 0;
};

RunConfig config_of(const testing::TextCorpus& corpus, int ranks) {
  RunConfig c;
  c.device = DeviceChoice::cpu;
  c.model.width = 16, c.model.heads = 2, c.model.feed_forward = 16;
  c.model.encoder_layers = c.model.decoder_layers = 1;
  c.data.train = corpus.folder();
  c.batch.rows = 64, c.batch.blocks = ranks, c.batch.page = 4;
  c.train.precision = Precision::f32;
  c.train.output = corpus.path() + "/run";
  return testing::resolved(c, ranks);
}

Costs costs_of(const testing::TextCorpus& corpus, int ranks) {
  constexpr int kSteps = 3;
  Costs costs;
  const testing::TemporaryFolder folder;
  run_thread_ranks(ranks, [&](Communicator& world) {
    set_num_threads(1);
    const RunConfig config = config_of(corpus, ranks);
    const Mesh mesh(world, config.parallel);
    std::unique_ptr<testing::SmallRun> run;
    Costs own;
    own.start = cost(world, [&] { run = std::make_unique<testing::SmallRun>(config, mesh); });
    const int64_t numel = run->trainer.replica().params().numel();
    own.step = cost(world,
                    [&] {
                      for (int i = 0; i < kSteps; ++i) run->step();
                    }) /
               kSteps;
    std::vector<float> gradients(static_cast<size_t>(numel));
    own.all_reduce = cost(world, [&] {
      mesh.dp().all_reduce(Tensor(gradients.data(), {numel}, DType::f32));
      world.sum(1);
    });
    own.step -= own.all_reduce;
    std::string saved;
    own.save = cost(world, [&] { saved = run->save(folder.path()); });
    own.resume = cost(world, [&] { run->resume(saved); });
    run.reset();
    own.plan = cost(world,
                    [&] {
                      Loader loader(testing::open_mix(config.data.train), config.batch, /*seed=*/1, mesh.dp().rank(),
                                    mesh.dp().size());
                      for (int i = 0; i < kSteps; ++i) loader.next();
                    }) /
               kSteps;
    if (world.is_main_rank()) costs = own;
  });
  return costs;
}

void print(int most) {
  const testing::TextCorpus corpus(std::max(200, 20 * most));
  fmt::print("ranks   start  loader, a step  computation, a step  all-reduce, a step    save  resume\n");
  for (int ranks = 1; ranks <= most; ranks *= 4) {
    const Costs c = costs_of(corpus, ranks);
    const double ms = 1e3 / ranks;
    fmt::print("{:5} {:7.2f} {:15.2f} {:20.2f} {:19.2f} {:7.2f} {:7.2f}\n", ranks, ms * c.start, ms * c.plan,
               ms * c.step, ms * c.all_reduce, ms * c.save, ms * c.resume);
    std::fflush(stdout);
  }
}

// CPU milliseconds of one call.
double cost_of(const std::function<void()>& call) {
  constexpr double kSeconds = 0.2;
  const double begin = cpu_seconds();
  int calls = 0;
  for (; cpu_seconds() - begin < kSeconds; ++calls) call();
  return 1e3 * (cpu_seconds() - begin) / calls;
}

void print_parsing() {
  fmt::print("\nstreams  state.json, bytes  parsing all  parsing one rank's\n");
  for (const int streams : {1, 256, 1024, 4096}) {
    TrainState state;
    state.cursor.num_streams = streams;
    for (int64_t i = 0; i < streams; ++i)
      state.cursor.streams[i].corpora = {
          {.epoch = 3, .position = 12'345, .pending = std::vector<int64_t>(20, 100'000 + i)}};
    const std::string all = state.to_json().dump(), sent = state_to_text(state);
    fmt::print("{:7} {:18} {:12.2f} {:19.2f}\n", streams, all.size(),
               cost_of([&] { TrainState::from_json(nlohmann::json::parse(all), ""); }),
               cost_of([&] { state_from_text(sent, streams, streams / 2, streams); }));
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) try {
  weft::print(argc > 1 ? std::atoi(argv[1]) : 1024);
  weft::print_parsing();
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "ranks_bench: {}\n", e.what());
  return 1;
}
