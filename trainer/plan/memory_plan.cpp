// trainer/plan/memory_plan.cpp: adds up dry runs, totals of the corpus, and the resident memory of this process.
#include "trainer/plan/memory_plan.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>
#include <vector>

#include "data/loader.h"
#include "model/decoding/beam_search.h"
#include "parallel/device_mesh.h"
#include "trainer/checkpoint/checkpoint_saver.h"
#include "trainer/display/units.h"
#include "trainer/flat_states.h"
#include "trainer/inference/translator.h"
#include "trainer/step/dry_step.h"
#include "trainer/step/planned_replica.h"

namespace weft {
namespace {

// Libraries loaded on first use, threads' stacks, and code that oneDNN generates: measured.
constexpr size_t kUsedLater = 8 << 20;

// Buffers of the MPI library, shared with the ranks of the same machine: measured with two ranks.
constexpr size_t kMessageBuffers = 12 << 20;

// All gradient buckets may be in flight at once, each with the other ranks' parts of this rank's share. Collectives
// over tp run one at a time, and the largest has a block's rows. Tensors that a GPU sends through the host have a copy
// there as well, and gathers and scatters have another one of what they receive.
size_t message_bytes(const RunConfig& c, size_t gradients, const RankDevice& own) {
  const bool copied = stages_through_host(own, c.parallel.communication);
  if (own.device != Device::cpu && !copied) return 0;
  const auto others = [&](size_t bytes, int64_t ranks) {
    const size_t parts = bytes / static_cast<size_t>(ranks) * static_cast<size_t>(ranks - 1);
    return copied && ranks > 1 ? parts + bytes : parts;
  };
  const auto rows = static_cast<size_t>(std::max(c.batch.rows, c.batch.source_rows) * c.model.width) * sizeof(float);
  const size_t library = c.parallel.dp * c.parallel.tp > 1 ? kMessageBuffers : 0;
  const size_t received = copied && c.parallel.sequence && c.parallel.tp > 1 ? rows : 0;
  return others(gradients, c.parallel.dp) + others(rows, c.parallel.tp) + received + library;
}

// A tokenizer holds its vocabulary as text, as a table and as a trie.
size_t tokenizer_bytes(const Corpus& corpus) {
  constexpr size_t kBytesOfFile = 12;  // measured with vocabularies of 1,000 to 32,000
  const Manifest& m = corpus.manifest();
  size_t bytes = 0;
  for (const std::string& name : {m.source_tokenizer, m.target_tokenizer})
    bytes += kBytesOfFile * std::filesystem::file_size(corpus.folder() + "/" + name);
  return m.source_tokenizer == m.target_tokenizer ? bytes / 2 : bytes;
}

size_t largest_share_of_a_checkpoint(const RunConfig& c, const Context& dry, PlannedReplica& replica) {
  const auto ranks = static_cast<int>(std::max<int64_t>(c.parallel.dp * c.parallel.tp, 1));
  Context unused(dry.device(), /*dry_run=*/true);
  const std::vector<FlatState> states = flat_states(unused, *replica.dp, replica.params, replica.optimizer);
  const auto files =
      divide_into_files(file_layout(dry, replica.params, states), ranks, CheckpointSaver::kSmallestShare);
  int64_t largest = 0;
  for (int rank = 0; rank < ranks; ++rank) largest = std::max(largest, stored_bytes(files, rank));
  return static_cast<size_t>(largest);
}

size_t data_bytes(const ResolvedRun& run) {
  const RunConfig& c = run.config;
  const auto dp = static_cast<int>(c.parallel.dp);
  size_t bytes = 0;  // for the stage that needs most
  for (const Stage& stage : run.stages) bytes = std::max(bytes, read_ahead_bytes(stage.corpora, c.batch, dp));
  for (const ValidationSet& set : run.valid) bytes += all_blocks_bytes(*set.opened, c.batch, dp);
  return translates(c) ? bytes + tokenizer_bytes(*run.valid.front().opened) : bytes;
}

}  // namespace

MemoryPlan plan_tensors(const RunConfig& c, const TensorParallel& tp, Device device) {
  PlannedReplica replica(c, tp, device);
  Context dry(device, /*dry_run=*/true);
  const ParamStore& params = replica.params;
  const ParamBytes of_params = params.bytes();
  const OptimizerBytes of_optimizer = replica.optimizer.bytes();
  MemoryPlan plan{.device = device};
  plan.parameters = replica.model.positions_bytes() + of_params.values + of_optimizer.master;
  plan.packed = of_params.packed, plan.copies = of_params.rounded + of_params.packed;
  plan.gradients = of_params.gradients;
  if (c.parallel.gradient_type != GradientType::f32 && replica.optimizer.sharded())
    plan.gradients += Buffer::footprint(static_cast<size_t>(params.matrix_numel()) * sizeof(float), device) / 2;
  plan.moments = of_optimizer.moments, plan.average = of_optimizer.average;
  const size_t num_whole = 1 + replica.optimizer.states().size();  // values, moments, average
  plan.less_by_shards = replica.model.positions_bytes() +
                        num_whole * Buffer::footprint(static_cast<size_t>(params.numel()) * sizeof(float), device) -
                        plan.parameters - plan.moments - plan.average;
  plan.activations = Buffer::footprint(arena_bytes(c, tp, dry), device);
  if (translates(c)) plan.translation = BeamSearch(dry, replica.model, tp, beam_options(c.decode)).memory_bytes();
  plan.workspace = of_optimizer.workspace, plan.scratch = dry.scratch_bytes() + of_optimizer.workspace;
  plan.saving = largest_share_of_a_checkpoint(c, dry, replica);
  return plan;
}

MemoryPlan plan_memory(const ResolvedRun& run, const TensorParallel& tp, const RankDevice& own) {
  const size_t program = resident_bytes() + kUsedLater;  // before anything is planned
  MemoryPlan plan = plan_tensors(run.config, tp, own.device);
  plan.messages = message_bytes(run.config, plan.gradients, own);
  plan.data = data_bytes(run);
  plan.program = program;
  return plan;
}

std::string describe(const MemoryPlan& m, const char* storage) {
  constexpr size_t kShown = 3;
  const bool on_gpu = m.device == Device::cuda;
  std::vector<std::pair<size_t, std::string>> parts = {
      {m.parameters, "parameters"}, {m.copies, fmt::format("their {} copies", storage)},
      {m.gradients, "gradients"},   {m.moments, "moments"},
      {m.average, "average"},       {m.activations, "activations"},
      {m.scratch, "scratch"},       {m.translation, "translation"}};
  if (!on_gpu)
    parts.insert(parts.end(),
                 {{m.messages, "messages"}, {m.saving, "checkpoint copy"}, {m.data, "data"}, {m.program, "program"}});
  std::ranges::stable_sort(parts, std::greater(), [](const auto& part) { return part.first; });
  size_t others = on_gpu ? m.tensors() : m.total();
  std::string s = fmt::format("{} {}per rank: ", format_bytes(others), on_gpu ? "of the GPU " : "");
  for (size_t i = 0; i < kShown; others -= parts[i++].first)
    s += fmt::format("{} {}, ", parts[i].second, format_bytes(parts[i].first));
  s += "others " + format_bytes(others);
  return on_gpu ? fmt::format("{}; {} of the host", s, format_bytes(m.total() - m.tensors())) : s;
}

size_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name; status.ignore(1 << 20, '\n')) {
    size_t kib = 0;
    if (name == "VmRSS:" && status >> kib) return kib * 1024;
  }
  return 0;
}

}  // namespace weft
