// launch/inspect_model.cpp: the model that a .cfg describes: its tree of layers, parameters and memory, nothing
// allocated.
#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "data/manifest.h"
#include "launch/config_io.h"
#include "launch/inspect.h"
#include "model/transformer.h"
#include "tensor/error.h"
#include "trainer/plan.h"
#include "trainer/trainer.h"
#include "trainer/units.h"

namespace weft {
namespace {

std::vector<std::string> parts_of(const std::string& name) {  // "encoder.0.self.qkv.weight" at its points
  std::vector<std::string> parts;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = name.find('.', begin);
    parts.push_back(name.substr(begin, end - begin));
  }
  return parts;
}

// Numbers of parameters below each prefix of a name: "encoder" -> ..., "encoder.0" -> ... .
int64_t count_below(const ParamStore& params, const std::string& prefix) {
  int64_t count = 0;
  for (const Param& p : params.params())
    if (p.spec.name.starts_with(prefix + ".")) count += p.spec.shape.numel();
  return count;
}

void print_line(size_t depth, const std::string& name, const std::string& shape, int64_t count) {
  fmt::print("{:<44} {:<24} {:>14}\n", std::string(2 * depth, ' ') + name, shape, with_commas(count));
}

void print_tree(const ParamStore& params) {
  std::vector<std::string> above;
  for (const Param& p : params.params()) {
    const std::vector<std::string> parts = parts_of(p.spec.name);
    size_t common = 0;
    while (common < above.size() && common + 1 < parts.size() && above[common] == parts[common]) ++common;
    above.resize(common);
    std::string prefix;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      prefix += (i ? "." : "") + parts[i];
      if (i < common) continue;
      print_line(i, parts[i], "", count_below(params, prefix));
      above.push_back(parts[i]);
    }
    print_line(parts.size() - 1, parts.back(), p.spec.shape.str(), p.spec.shape.numel());
  }
}

void fill_vocabularies(const std::string& corpus, int64_t given, ModelConfig& model) {
  if (model.source_vocabulary > 0 && model.target_vocabulary > 0) return;
  Manifest manifest;
  manifest.source_vocabulary = manifest.target_vocabulary = given;
  if (given == 0) {
    if (corpus.empty() || !std::filesystem::exists(corpus + "/" + kManifestFile))
      fail(ErrorKind::usage,
           "the size of the vocabulary is not known yet: it comes with the packed corpus data.train; "
           "until that is there, give --vocabulary N");
    manifest = read_manifest(corpus);
  }
  if (model.source_vocabulary == 0) model.source_vocabulary = manifest.source_vocabulary;
  if (model.target_vocabulary == 0) model.target_vocabulary = manifest.target_vocabulary;
}

void print_memory(const RunConfig& config, const ParamStore& params, const TensorParallel& tp) {
  const size_t flat = static_cast<size_t>(params.numel()) * sizeof(float), arena = arena_bytes(config, tp);
  fmt::print("\nmemory of a rank in training, parallel.tp = 1, f32\n");
  fmt::print("  parameters {}, gradients {}, moments {}\n", format_bytes(flat), format_bytes(flat),
             format_bytes(2 * flat));
  fmt::print("  activations of a block of {} x {} rows: {}\n", config.batch.source_rows, config.batch.rows,
             format_bytes(arena));
  fmt::print("  together {}\n", format_bytes(4 * flat + arena));
}

}  // namespace

void inspect_model(const std::string& cfg_file, int64_t vocabulary) {
  RunConfig config;
  apply_cfg_file(cfg_file, config);
  fill_vocabularies(config.data.train, vocabulary, config.model);
  config.model.resolve(/*tp=*/1);
  if (config.batch.source_rows == 0) config.batch.source_rows = config.batch.rows;
  const std::unique_ptr<Communicator> alone = make_single_communicator();
  ParamStore params(0, 1);
  const Transformer model(config.model, params, /*max_positions=*/1);
  fmt::print("model of {}\n\n", cfg_file);
  print_tree(params);
  fmt::print("\n{:<69} {:>14}\n", "parameters in all", with_commas(params.global_numel()));
  fmt::print("{:<69} {:>14}\n", "without vocabulary tables",
             with_commas(params.global_numel() - vocabulary_numel(params)));
  print_memory(config, params, TensorParallel(*alone));
}

}  // namespace weft
