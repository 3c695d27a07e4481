// trainer/plan/config_difference.h: what differs between two configurations, as .cfg text.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft {

using ConfigOption = std::pair<std::string, std::string>;  // "train.seed", and its value as in the file

std::vector<ConfigOption> config_options(const std::string& text);  // in its order

struct ChangedOption {
  std::string name;      // "train.seed"
  std::string from, to;  // values as in the files
};

// Options that both texts have, with different values, in the order of `to`; and stages of the data, and schedules of
// stages, that only one of them has: by their first option, with "not given" for the other.
std::vector<ChangedOption> config_differences(const std::string& from, const std::string& to);

// An Error of kind usage that lists the changed options with which a resumed run would train otherwise than it began:
// batch.blocks, dropout, label smoothing, optimizer and schedule; and of the first `num_stages` stages of the data,
// which have begun, the schedules, the ends of all but the last one, and the steps over which that one decays. Other
// options may change (grid, device, saves, validation), or the checkpoint refuses them in any case (model, seed, order
// of sentences, optimizer.kind: train_state.h).
void require_same_training(const std::string& from, const std::string& to, size_t num_stages = 1);

// An Error of kind usage if both are of schedule-free optimizers with different optimizer.beta1: a checkpoint keeps y
// and z, from which the average x is computed with the beta1 of its steps (docs/optimizers.md).
void require_same_average(const std::string& from, const std::string& to);

}  // namespace weft
