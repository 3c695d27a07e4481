// parallel/mesh.cpp: resolves the grid for the number of ranks, and makes the dp and tp groups.
#include "parallel/mesh.h"

#include <cassert>
#include <utility>

#include "tensor/error.h"

namespace weft {
namespace {

void check_timeout(double seconds) {
  constexpr double kMin = 0.001, kMax = 1e6;
  if (seconds >= kMin && seconds <= kMax) return;
  fail(ErrorKind::usage,
       fmt::format("parallel.timeout = {} must be from {} to {:.0f} seconds; 600 is usual", seconds, kMin, kMax));
}

}  // namespace

ParallelConfig resolve_grid(ParallelConfig wanted, int ranks) {
  check_timeout(wanted.timeout);
  if (wanted.zero != 0 && wanted.zero != 1)
    fail(ErrorKind::usage, fmt::format("parallel.zero = {} must be 0, or 1 to shard the optimizer state", wanted.zero));
  if (wanted.gradient_type != GradientType::f32 && wanted.zero == 0)
    fail(ErrorKind::usage,
         "parallel.gradient_type = bf16 needs parallel.zero = 1, because otherwise the sums would also be rounded");
  const int64_t dp = wanted.dp, tp = wanted.tp;
  if (dp < 0 || tp < 1) {
    fail(ErrorKind::usage,
         fmt::format("parallel.dp = {} must be at least 0 (0 = ranks / tp), and parallel.tp = {} must be at least 1",
                     dp, tp));
  }
  if (dp == 0) {
    if (ranks % tp != 0) {
      fail(ErrorKind::usage, fmt::format("the number of ranks, {0}, must be a multiple of parallel.tp = {1}: change "
                                         "parallel.tp, or start a multiple of {1} ranks with weft launch -n",
                                         ranks, tp));
    }
    wanted.dp = ranks / tp;
    return wanted;
  }
  if (dp != ranks / tp || ranks % tp != 0) {
    const double needed = static_cast<double>(dp) * static_cast<double>(tp);  // a double cannot overflow
    fail(ErrorKind::usage,
         fmt::format("parallel.dp = {} times parallel.tp = {} needs {:.0f} ranks, but {} were started: use weft launch "
                     "-n {:.0f}, or change parallel.dp (0 = ranks / tp) or parallel.tp",
                     dp, tp, needed, ranks, needed));
  }
  return wanted;
}

Mesh::Mesh(Communicator& world, const ParallelConfig& grid, RankDevice own) : world_(world), own_(std::move(own)) {
  assert(grid.dp * grid.tp == world.size());
  const int tp = static_cast<int>(grid.tp);
  const int dp_rank = world.rank() / tp, tp_rank = world.rank() % tp;
  dp_ = world.split(tp_rank, dp_rank);
  tp_ = world.split(dp_rank, tp_rank);
}

}  // namespace weft
