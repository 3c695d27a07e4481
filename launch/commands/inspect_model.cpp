// launch/commands/inspect_model.cpp: `weft inspect model` prints the tree of layers with parameters, FLOPs and memory.
#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "data/shards/manifest.h"
#include "data/text/split.h"
#include "launch/commands.h"
#include "launch/commands/inspect.h"
#include "launch/open_model.h"
#include "launch/options/options.h"
#include "model/flops.h"
#include "model/transformer.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/config/config_text.h"
#include "trainer/display/units.h"
#include "trainer/plan/check_options.h"
#include "trainer/plan/memory_plan.h"
#include "trainer/plan/run_plan.h"
#include "trainer/precision.h"
#include "trainer/stages/stages.h"

namespace weft {
namespace {

constexpr int64_t kMaxRanks = 64;

// Returns the number of parameters whose names start with a prefix such as "encoder" or "encoder.0".
int64_t count_below(const ParamStore& params, const std::string& prefix) {
  int64_t count = 0;
  for (const Param& p : params.params())
    if (p.spec.name.starts_with(prefix + ".")) count += p.spec.shape.numel();
  return count;
}

void print_line(size_t depth, std::string_view name, const std::string& shape, const std::string& shard,
                int64_t count) {
  fmt::print("{:<44} {:<24} {:<{}} {:>14}\n", std::string(2 * depth, ' ').append(name), shape, shard,
             shard.empty() ? 0 : 24, with_commas(count));
}

void print_tree(const ParamStore& params) {
  const bool is_split = params.tp_size() > 1;
  const auto shard = [&](const std::string& text) { return is_split ? text : ""; };
  if (is_split)
    fmt::print("{:<44} {:<24} {:<24} {:>14}\n", "", "complete", fmt::format("each of {} ranks", params.tp_size()),
               "parameters");
  std::vector<std::string_view> above;
  for (const Param& p : params.params()) {
    const std::vector<std::string_view> parts = split(p.spec.name, '.');  // "encoder.0.self.qkv.weight"
    size_t common = 0;
    while (common < above.size() && common + 1 < parts.size() && above[common] == parts[common]) ++common;
    above.resize(common);
    std::string prefix;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      prefix.append(i ? "." : "").append(parts[i]);
      if (i < common) continue;
      print_line(i, parts[i], "", shard(" "), count_below(params, prefix));
      above.push_back(parts[i]);
    }
    print_line(parts.size() - 1, parts.back(), p.spec.shape.str(), shard(p.value.shape.str()), p.spec.shape.numel());
  }
}

void print_totals(const ParamStore& params) {
  const int column = params.tp_size() > 1 ? 94 : 69;
  const auto row = [&](const char* name, int64_t count) {
    fmt::print("{:<{}} {:>14}\n", name, column, with_commas(count));
  };
  fmt::print("\n");
  row("total parameters", params.global_numel());
  row("without vocabulary tables", params.global_numel() - vocabulary_numel(params));
  if (params.tp_size() > 1) row("per rank, padding included", params.numel());
}

void print_flops(const ModelConfig& model, int64_t length) {
  const auto tokens = static_cast<double>(length);
  const TokenFlops forward = forward_flops(model, tokens, tokens), training = forward * kTrainingPasses;
  fmt::print("\nfloating-point operations, sentences of {} tokens {:>20} {:>14}\n", length, "forward", "training");
  const auto row = [](const char* name, double once, double trained) {
    fmt::print("  {:<56} {:>12} {:>14}\n", name, format_count(once), format_count(trained));
  };
  row("per source token", forward.source, training.source);
  row("per target token", forward.target, training.target);
  row("per pair of tokens", forward.pair(), training.pair());
}

void fill_vocabularies(const std::string& corpus, int64_t given, ModelConfig& model) {
  if (model.source_vocabulary > 0 && model.target_vocabulary > 0) {
    if (given == 0) return;
    fail(ErrorKind::usage,
         fmt::format("--vocabulary {} has no effect, because the vocabulary sizes are known ({} and {}): leave it out",
                     given, model.source_vocabulary, model.target_vocabulary));
  }
  Manifest manifest;
  manifest.source_vocabulary = manifest.target_vocabulary = given;
  if (given == 0) {
    if (corpus.empty() || !std::filesystem::exists(corpus + "/" + kManifestFile))
      fail(ErrorKind::usage,
           "the vocabulary size is unknown, because the corpus data.train does not exist yet: give --vocabulary N");
    manifest = read_manifest(corpus);
  }
  if (model.source_vocabulary == 0) model.source_vocabulary = manifest.source_vocabulary;
  if (model.target_vocabulary == 0) model.target_vocabulary = manifest.target_vocabulary;
}

// Plans the memory of one tp rank, because all tp ranks need the same amount.
MemoryPlan memory_of_rank(const RunConfig& config, int64_t tp, Device device) {
  MemoryPlan plan;
  run_thread_ranks(static_cast<int>(tp), [&](Communicator& group) {
    if (group.is_main_rank()) plan = plan_tensors(config, TensorParallel(group), device);
  });
  return plan;
}

void print_memory(const RunConfig& config, Device device) {
  const ParallelConfig& parallel = config.parallel;
  const MemoryPlan plan = memory_of_rank(config, parallel.tp, device);
  const char* const storage = name_of(storage_of(config.train.precision));
  const auto part = [](const std::string& before, size_t bytes) {
    return bytes > 0 ? before + format_bytes(bytes) : "";
  };
  fmt::print("\nmemory per rank in training, parallel.tp = {}{}{}, {}{}\n", parallel.tp,
             parallel.sequence && parallel.tp > 1 ? " with parallel.sequence" : "",
             parallel.zero > 0 && parallel.dp > 1 ? fmt::format(", parallel.zero over dp = {}", parallel.dp) : "",
             storage, device == Device::cuda ? ", on a GPU" : "");
  fmt::print("  parameters {}{}, gradients {}, moments {}{}\n", format_bytes(plan.parameters),
             part(fmt::format(", their {} copies ", storage), plan.copies), format_bytes(plan.gradients),
             format_bytes(plan.moments), part(", average ", plan.average));
  fmt::print("  activations of a block of {} x {} rows: {}{}{}\n", config.batch.source_rows, config.batch.rows,
             format_bytes(plan.activations), part("; scratch ", plan.scratch),
             part("; translation in validations ", plan.translation));
  fmt::print("  total {}\n", format_bytes(plan.tensors()));
}

RunConfig config_at(const std::string& path) {
  if (!std::filesystem::exists(path)) fail(ErrorKind::usage, fmt::format("{}: there is no such file or folder", path));
  RunConfig config;
  if (std::filesystem::is_directory(path)) {
    const CheckpointLease lease = lease_checkpoint(std::filesystem::path(path).lexically_normal().string());
    apply_cfg_of_checkpoint(lease.folder, config);
  } else {
    apply_cfg_file(path, config);
  }
  return config;
}

}  // namespace

void inspect_model(const std::string& path, const ModelView& view) {
  RunConfig config = config_at(path);
  const std::vector<std::string> corpora = training_folders(parse_stages(config));
  fill_vocabularies(corpora.empty() ? "" : corpora.front(), view.vocabulary, config.model);
  config.model.resolve(view.tp);
  config.parallel.tp = view.tp;
  if (config.batch.source_rows == 0) config.batch.source_rows = config.batch.rows;
  require_even_rows(config);
  const auto alone = make_single_communicator();
  const Device device = choose_device(view.device, /*share_gpu=*/false, *alone).device;
  config.train.precision =
      choose_precision(config.train.precision, half_instructions(device, *alone), /*before=*/"").precision;
  ParamStore params(0, static_cast<int>(view.tp), storage_of(config.train.precision), device);
  const Transformer model(config.model, params, /*num_positions=*/1);
  fmt::print("model of {}\n\n", path);
  print_tree(params);
  print_totals(params);
  print_flops(config.model, view.length);
  print_memory(config, device);
}

int run_inspect_model(const CommandContext& context) {
  Options options(
      "inspect model PATH ... [options]\n\n"
      "Shows the layers, parameters, FLOPs and training memory of a model, without allocating it.\n\n"
      "  weft inspect model configs/big.cfg --vocabulary 32000 --tp 2");
  std::vector<std::string> paths;
  ModelView view;
  options.positional("PATH", paths, ".cfg file, or folder of a run or checkpoint");
  options.add("tp", view.tp, "number of tensor-parallel ranks; if above 1, the slices of each rank are also shown");
  options.add("device", view.device, kDeviceSentence);
  options.add("length", view.length, "tokens per sentence (with eos), on which the FLOPs of attention depend");
  options.add("vocabulary", view.vocabulary, ".cfg file: size of each vocabulary, needed if data.train does not exist");
  if (!options.parse(context.args)) return 0;
  if (paths.empty()) fail(ErrorKind::usage, "PATH is missing; usage: weft inspect model PATH");
  if (view.tp < 1 || view.tp > kMaxRanks)
    fail(ErrorKind::usage, fmt::format("--tp is {}, but must be between 1 and {}", view.tp, kMaxRanks));
  if (view.length < 1) fail(ErrorKind::usage, fmt::format("--length must be at least 1, but is {}", view.length));
  if (view.vocabulary < 0)
    fail(ErrorKind::usage, fmt::format("--vocabulary must be at least 0, but is {}", view.vocabulary));
  for (const std::string& path : paths) inspect_model(path, view);
  return 0;
}

}  // namespace weft
