// trainer/cluster/cluster_plan.h: every grid that a number of ranks can form, predicted and compared.
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
  int64_t tokens = 0;  // target rows of a step for each rank; 0: the configuration's step, divided among the ranks
  std::vector<GradientExchange> exchanges{{}};
  int64_t valid_sentences = 3000;
  double target_tokens = 0;  // of the run; 0: train.steps
};

struct PlannedGrid {
  GridStep step;
  double efficiency = 0;  // tokens a second over those of all ranks, if each were alone; saves and validations apart
  std::string binds;      // what costs most of the difference
  double hours = 0;       // of the whole run
};

struct ClusterPlan {
  PlanRequest request;
  GridStep alone;                  // one rank
  std::vector<PlannedGrid> grids;  // those that fit into memory first, then the fastest
  int64_t nodes() const { return (request.ranks + request.machine.node.ranks - 1) / request.machine.node.ranks; }
};

// Errors of kind usage: a request or a machine that cannot be, a model that no grid of so many ranks can train.
ClusterPlan plan_cluster(const PlanRequest& request);

}  // namespace weft
