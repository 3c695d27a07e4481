// launch/open_model.h: from a path on the command line to a trained model on every rank, for the commands that use one.
#pragma once

#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/options/options.h"
#include "parallel/communicator.h"
#include "trainer/inference/model_loader.h"

namespace weft {

inline constexpr const char* kCheckpointSentence = "a run's folder (its best checkpoint), or one checkpoint's folder";

// The step folder that `path` means, the same on all ranks: rank 0 looks, since pointers may move.
std::string find_checkpoint(Communicator& world, const std::string& path);

// The configuration saved in the folder, but on this grid of `ranks`.
RunConfig config_for_use(const std::string& folder, const ParallelConfig& grid, int ranks);

// Which trained model a command uses, and what it computes on: options that these commands share.
struct ModelRequest {
  std::string checkpoint;
  DeviceChoice device = DeviceChoice::automatic;
  ParallelConfig parallel;
  bool quiet = false;

  void add_to(Options& options);
};

// The grid of `config`, each rank with its device. Unless `quiet`, a line on standard error names the GPU. On a
// machine with NVIDIA's driver it says why no GPU is used; on other machines none is expected.
Mesh mesh_for_use(const ModelRequest& request, const RunConfig& config, Communicator& world);
bool has_nvidia_driver(const std::filesystem::path& root = "/");

std::vector<std::string> broadcast_lines(Communicator& world, const std::vector<std::string>& lines);

// Lines as rank 0 reads them, on every rank. Its `read` may throw: then all ranks throw the same.
template <typename Read>
std::vector<std::string> lines_of_rank0(Communicator& world, Read&& read) {
  return broadcast_lines(world, all_or_none(world, [&] {
                           return world.is_main_rank() ? std::vector<std::string>(read()) : std::vector<std::string>();
                         }));
}

std::vector<std::string> read_text_file(const std::string& path);  // plain or gzip, checked (data/text/text_reader.h)

}  // namespace weft
