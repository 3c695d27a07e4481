// launch/reports/plan_report.h: formats the results of `weft plan` as text or as JSON (docs/hardware/plan.md).
#pragma once

#include <string>

#include "trainer/cluster/cluster_plan.h"

namespace weft {

std::string plan_text(const ClusterPlan& plan);
std::string plan_json(const ClusterPlan& plan);

}  // namespace weft
