// launch/open_model.h: opens the trained model that is named on the command line, on every rank.
#pragma once

#include <string>
#include <vector>

#include "launch/options/options.h"
#include "parallel/communicator.h"
#include "trainer/inference/model_loader.h"
#include "trainer/precision.h"

namespace weft {

inline constexpr const char* kCheckpointSentence = "folder of a run (its best checkpoint is used) or of one checkpoint";
inline constexpr const char* kRawWeightsSentence =
    "use the raw weights of the checkpoint instead of their moving average (train.ema)";

// Returns the step folder of `path`. Rank 0 resolves links for all ranks, because links may change in the meantime, and
// alone holds the lease.
CheckpointLease find_checkpoint(Communicator& world, const std::string& path);

// Reads the configuration saved in the folder. Error of kind checkpoint if the configuration or a tokenizer is damaged.
void apply_cfg_of_checkpoint(const std::string& folder, RunConfig& config);

// Returns the saved configuration with `grid` resolved for `ranks`. Error of kind usage if `grid` has training options.
RunConfig config_for_use(const std::string& folder, const ParallelConfig& grid, int ranks);

// Returns StoredWeights::training for --raw-weights, and StoredWeights::evaluation without this option. Error of kind
// usage if --raw-weights has no effect because the folder contains no average.
StoredWeights weights_to_use(bool raw_weights, const std::string& folder);

// Contains the options for model and device that are common to all commands that use a trained model.
struct ModelRequest {
  std::string checkpoint;
  DeviceChoice device = DeviceChoice::automatic;
  ParallelConfig parallel;
  bool quiet = false, raw_weights = false;
  InferencePrecision precision = InferencePrecision::f32;

  void add_to(Options& options);
  void add_settings(Options& options);  // only those that do not depend on the number of checkpoints and ranks
  // Loads the model in a step folder with the requested weights and precision. All ranks must call load().
  LoadedModel load(const std::string& folder, const RunConfig& config, const Mesh& mesh) const;
};

// Makes the grid of `config` and assigns a device to each rank. Unless `quiet`, prints to standard error which GPU is
// used, or on a machine with NVIDIA's driver why no GPU is used.
Mesh mesh_for_use(const ModelRequest& request, const RunConfig& config, Communicator& world);

std::vector<std::string> broadcast_lines(Communicator& world, const std::vector<std::string>& lines);

// Returns on every rank the lines that rank 0 reads. If `read` throws, all ranks throw the same Error.
template <typename Read>
std::vector<std::string> lines_of_rank0(Communicator& world, Read&& read) {
  return broadcast_lines(world, all_or_none(world, [&] {
                           return world.is_main_rank() ? std::vector<std::string>(read()) : std::vector<std::string>();
                         }));
}

// Returns on every rank the number that rank 0 computes. If `compute` throws, all ranks throw the same Error.
template <typename Compute>
int64_t number_of_rank0(Communicator& world, Compute&& compute) {
  return std::stoll(lines_of_rank0(world, [&] { return std::vector{std::to_string(compute())}; }).front());
}

// Error of kind io if standard input is a folder. Reads nothing, because a background job that reads a terminal stops.
void require_no_folder_as_input();

std::vector<std::string> read_text_file(const std::string& path);  // plain or compressed (data/text/text_reader.h)

}  // namespace weft
