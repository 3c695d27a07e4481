// tests/model/grid_check.cpp: run under mpirun: on every grid of the ranks, with and without sequence parallelism,
// loss and gathered gradients equal those of a single rank. Prints a line for each grid; exit status 0 if all agree.
//
// Uses the device under test: the ranks take GPUs in turn, and share them if there are fewer.
#include <cstdio>
#include <exception>

#include <fmt/ranges.h>

#include "parallel/mpi/session.h"
#include "parallel/nccl.h"
#include "tests/support/definition/kinks.h"
#include "tests/support/grid_comparison.h"

namespace weft::testing {
namespace {

struct CheckedModel {
  const char* name;
  ModelConfig config;
};

ModelConfig common() {
  ModelConfig c = small_config();
  c.source_vocabulary = c.target_vocabulary = 17;  // no tp divides it
  c.dropout_attention = 0.2, c.dropout_feed_forward = 0.3, c.dropout_embedding = 0.15, c.dropout_residual = 0.1;
  return c;
}

std::vector<CheckedModel> models() {
  CheckedModel paper{"post-norm, all tied", common()};
  CheckedModel pre{"pre-norm, output tied, gelu, no biases", common()};
  pre.config.norm = NormPosition::pre, pre.config.final_norm = true,
  pre.config.activation = FeedForwardActivation::gelu;
  pre.config.bias_attention = pre.config.bias_feed_forward = false, pre.config.tying = Tying::output;
  CheckedModel learned{"learned positions, nothing tied, output bias", common()};
  learned.config.positions = Positions::learned, learned.config.max_positions = 12;
  learned.config.tying = Tying::none, learned.config.source_vocabulary = 23, learned.config.bias_output = true;
  return {paper, pre, learned};
}

void refuse(const CheckedModel& model, const std::string& what, const std::vector<std::string>& names) {
  if (!names.empty()) throw std::runtime_error(fmt::format("{}: {}: {}", model.name, what, fmt::join(names, "; ")));
}

void check(Communicator& world, const CheckedModel& model) {
  const std::vector<Block> blocks = random_blocks_off_kinks(model.config, /*count=*/4, 32, 36, 9);
  const auto alone = make_single_communicator();
  const GridResult one = run_on_mesh(model.config, blocks, Mesh(*alone, {.dp = 1, .tp = 1}), 0.1);
  refuse(model, "errors of ten tolerances would not be seen", blind_spots(one, one));
  for (int tp = 1; tp <= world.size(); ++tp) {
    if (world.size() % tp != 0) continue;
    for (const bool sequence : {false, true}) {
      if (sequence && tp == 1) continue;
      const Grid grid{.dp = world.size() / tp, .tp = tp, .sequence = sequence};
      const GridResult all =
          run_on_mesh(model.config, blocks, Mesh(world, {.dp = grid.dp, .tp = tp}), 0.1, {.sequence = sequence});
      refuse(model, "not what one rank computes on " + grid.name(), differences(all, one));
      world.barrier();
      if (world.rank() == 0) fmt::print("ok  {}  {}\n", grid.name(), model.name);
    }
  }
}

void check_all(Communicator& world) {
  const RankDevice own = choose_device(test_device_choice(), /*share_gpu=*/true, world);
  if (own.num_sharing > 1) share_one_gpu();
  for (const CheckedModel& model : models()) check(world, model);
}

}  // namespace
}  // namespace weft::testing

int main() {
  weft::MpiSession session;
  try {
    weft::testing::check_all(*session.world());
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "FAILED  rank {}: {}\n", session.rank(), e.what());
    session.abort(1);
  }
}
