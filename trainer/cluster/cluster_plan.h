// trainer/cluster/cluster_plan.h: predicts and compares every grid that a number of ranks can form.
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
  int64_t tokens = 0;  // target rows per rank and step; 0: the configuration's step, divided among the ranks
  std::vector<GradientExchange> exchanges{{}};
  int64_t valid_sentences = 3000;
  double target_tokens = 0;  // tokens of the whole run; 0: train.steps
};

struct PlannedGrid {
  GridStep step;
  double efficiency = 0;  // tokens per second relative to separate ranks; excludes saves and validations
  std::string binds;      // the largest part of the difference
  double hours = 0;       // duration of the whole run
};

struct ClusterPlan {
  PlanRequest request;
  GridStep alone;                  // one rank
  std::vector<PlannedGrid> grids;  // first those that fit into memory, each group sorted by speed
  int64_t nodes() const { return (request.ranks + request.machine.node.ranks - 1) / request.machine.node.ranks; }
};

// Throws an Error of kind usage if request or machine are invalid, or no grid of these ranks can train the model.
ClusterPlan plan_cluster(const PlanRequest& request);

}  // namespace weft
