// launch/open_model.h: opens the trained model at a path of the command line on every rank.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "launch/options/options.h"
#include "parallel/communicator.h"
#include "trainer/inference/model_loader.h"

namespace weft {

inline constexpr const char* kCheckpointSentence = "a run's folder (its best checkpoint), or one checkpoint's folder";
inline constexpr const char* kRawWeightsSentence =
    "use the weights of the checkpoint's step although it has their average (train.ema), too";

// The step folder for `path`, the same on all ranks: rank 0 resolves it, because links may move.
std::string find_checkpoint(Communicator& world, const std::string& path);

// The configuration saved in the folder, an Error of kind checkpoint if it or a tokenizer is damaged.
void apply_cfg_of_checkpoint(const std::string& folder, RunConfig& config);

// The same with this grid of `ranks`. An Error of kind usage if an option of `grid` is of training alone.
RunConfig config_for_use(const std::string& folder, const ParallelConfig& grid, int ranks);

// Which of the folder's weights --raw-weights, or its absence, asks for. An Error of kind usage if the option has no
// effect, because there is no average.
StoredWeights weights_to_use(bool raw_weights, const std::string& folder);

// Options for model and device, shared by the commands that use a trained model.
struct ModelRequest {
  std::string checkpoint;
  DeviceChoice device = DeviceChoice::automatic;
  ParallelConfig parallel;
  bool quiet = false, raw_weights = false;
  Precision precision = Precision::f32;

  void add_to(Options& options);
  // The model in a step folder, with the weights and the precision that are asked for. All ranks call it.
  LoadedModel load(const std::string& folder, const RunConfig& config, const Mesh& mesh) const;
};

// The grid of `config`, each rank with its device. Unless `quiet`, a line on standard error names the GPU, or
// says why none is used on a machine with NVIDIA's driver.
Mesh mesh_for_use(const ModelRequest& request, const RunConfig& config, Communicator& world);

std::vector<std::string> broadcast_lines(Communicator& world, const std::vector<std::string>& lines);

// Lines that rank 0 reads, on every rank. If `read` throws, all ranks throw the same Error.
template <typename Read>
std::vector<std::string> lines_of_rank0(Communicator& world, Read&& read) {
  return broadcast_lines(world, all_or_none(world, [&] {
                           return world.is_main_rank() ? std::vector<std::string>(read()) : std::vector<std::string>();
                         }));
}

// Throws an Error of kind io if standard input is a folder. Nothing is read: on a terminal that stops a background job.
void require_no_folder_as_input();

std::vector<std::string> read_text_file(const std::string& path);  // plain or packed, checked (data/text/text_reader.h)

}  // namespace weft
