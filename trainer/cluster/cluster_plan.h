// trainer/cluster/cluster_plan.h: predicts and compares all grids of a given number of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/cluster/grid_step.h"

namespace weft {

struct PlanRequest {
  RunConfig config;  // as read from files and the command line
  Machine machine;
  int64_t ranks = 1;
  int64_t tp = 0;      // only grids with this tp; 0: all
  int64_t tokens = 0;  // target rows per rank and step; 0: the ranks divide the configured step
  std::vector<GradientExchange> exchanges{{}};
  int64_t valid_sentences = 3000;
  double target_tokens = 0;  // target tokens of the complete run; 0: the run ends after train.steps
};

struct PlannedGrid {
  GridStep step;
  double efficiency = 0;  // speed / speed of separate ranks, without saves and validations
  std::string binds;      // the main reason why the grid is slower than separate ranks
  double hours = 0;       // duration of the complete run
};

struct ClusterPlan {
  PlanRequest request;
  GridStep alone;                  // prediction for a single rank
  std::vector<PlannedGrid> grids;  // first the grids that fit into memory, then the others; each from fast to slow
  int64_t enough_ranks = 0;        // fewer ranks with which the first grid's step takes no longer; 0 if unknown
  int64_t nodes() const { return (request.ranks + request.machine.node.ranks - 1) / request.machine.node.ranks; }
};

// Throws an Error of kind usage if the request or machine is invalid, or if no grid of the ranks can train the model.
ClusterPlan plan_cluster(const PlanRequest& request);

}  // namespace weft
