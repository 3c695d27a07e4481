// launch/open_model.cpp: finds and loads a checkpoint, and reads lines of text for all ranks.
#include "launch/open_model.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/text/split.h"
#include "data/text/text_reader.h"
#include "parallel/placement/placement.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/config/config_text.h"
#include "trainer/precision.h"

namespace weft {

CheckpointLease find_checkpoint(Communicator& world, const std::string& path) {
  CheckpointLease lease;
  lease.folder = lines_of_rank0(world, [&] {
                   lease = lease_checkpoint(path);
                   return std::vector{lease.folder};
                 }).front();
  return lease;
}

void apply_cfg_of_checkpoint(const std::string& folder, RunConfig& config) {
  verify_small_files(folder, read_checkpoint_manifest(folder));
  apply_cfg_file(folder + "/config.cfg", config);
}

StoredWeights weights_to_use(bool raw_weights, const std::string& folder) {
  if (!raw_weights) return StoredWeights::evaluation;
  if (!has_average(folder))
    fail(ErrorKind::usage,
         fmt::format("--raw-weights has no effect, because {} has no average of the weights (train.ema)", folder));
  return StoredWeights::training;
}

RunConfig config_for_use(const std::string& folder, const ParallelConfig& grid, int ranks) {
  const bool zero = grid.zero != ParallelConfig().zero;
  if (zero || grid.gradient_type != ParallelConfig().gradient_type)
    fail(ErrorKind::usage,
         fmt::format("--parallel.{} applies only to training: leave out the option", zero ? "zero" : "gradient_type"));
  RunConfig config;
  apply_cfg_of_checkpoint(folder, config);
  config.parallel = resolve_grid(grid, ranks);
  return config;
}

void ModelRequest::add_to(Options& options) {
  options.add("checkpoint", checkpoint, kCheckpointSentence);
  add_settings(options);
  options.section("parallel", parallel);
  for (const char* of_training : {"parallel.zero", "parallel.gradient_type"}) options.hide(of_training);
}

void ModelRequest::add_settings(Options& options) {
  options.add("raw-weights", raw_weights, kRawWeightsSentence);
  options.add("precision", precision,
              "type of activations and weights: f32 = the same results on every processor and in exported models, up "
              "to rounding; bf16 = faster on processors with bf16 instructions; f16; auto = bf16 if every rank's "
              "device has bf16 instructions, else f32; int8 = fastest on CPUs, and the same bytes on all of them");
  options.add("quiet", quiet, "print no progress");
  options.add("device", device, kDeviceSentence);
}

namespace {

void require_int8(const Mesh& mesh) {
  if (mesh.device() != Device::cpu)
    fail(ErrorKind::usage, "--precision int8 is only for CPUs: add --device cpu, or use --precision bf16");
  if (mesh.tp().size() > 1)
    fail(ErrorKind::usage, "--precision int8 divides sentences among ranks, not layers: use --parallel.tp=1");
}

Precision floating(InferencePrecision p) {
  switch (p) {
    case InferencePrecision::bf16:
      return Precision::bf16;
    case InferencePrecision::f16:
      return Precision::f16;
    case InferencePrecision::automatic:
      return Precision::automatic;
    default:
      return Precision::f32;
  }
}

}  // namespace

LoadedModel ModelRequest::load(const std::string& folder, const RunConfig& config, const Mesh& mesh) const {
  const StoredWeights weights = weights_to_use(raw_weights, folder);
  if (precision == InferencePrecision::int8) {
    require_int8(mesh);
    return LoadedModel(folder, config, mesh, weights, DType::i8);
  }
  const HalfInstructions instructions = half_instructions(mesh.device(), mesh.world());
  const DType storage = storage_of(choose_precision(floating(precision), instructions, /*before=*/"").precision);
  const bool slow = (storage == DType::bf16 && !instructions.bf16) || (storage == DType::f16 && !instructions.f16);
  if (storage != DType::f32 && !quiet && mesh.world().is_main_rank())
    fmt::print(
        stderr, "weft: computing in {}{}\n", name_of(storage),
        slow ? ", but some ranks lack instructions for it and convert to f32 first, so --precision f32 is faster" : "");
  return LoadedModel(folder, config, mesh, weights, storage);
}

Mesh mesh_for_use(const ModelRequest& request, const RunConfig& config, Communicator& world) {
  const RankDevice own = choose_device(request.device, config.parallel.share_gpu, world);
  place_ranks(config.parallel.bind, own, world);
  if (world.is_main_rank() && !request.quiet) {
    if (own.device == Device::cuda) print_note("weft: computing on {}\n", device_properties(own.device).name);
    if (!own.remark.empty() && has_nvidia_driver()) print_note("weft: computing on CPUs: {}\n", own.remark);
  }
  return Mesh(world, config.parallel, own);
}

// Sends the lines as one text, which can be split again because no line contains a line end.
std::vector<std::string> broadcast_lines(Communicator& world, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  text = world.broadcast_string(text, 0);
  const std::vector<std::string_view> received = split_lines(text);
  return {received.begin(), received.end()};
}

void require_no_folder_as_input() {
  if (struct stat input; fstat(STDIN_FILENO, &input) == 0 && S_ISDIR(input.st_mode))
    fail(ErrorKind::io, "standard input is a folder: give a file or a pipe");
}

std::vector<std::string> read_text_file(const std::string& path) {
  TextReader reader(path);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

}  // namespace weft
