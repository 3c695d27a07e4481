// launch/commands/import_adapters.cpp: a part of `weft import`.
#include "launch/commands/import_adapters.h"

#include <fmt/format.h>

#include <filesystem>

#include "data/atomic_file.h"
#include "model/transformer.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/model_checkpoint.h"
#include "trainer/checkpoint/stored_model.h"
#include "trainer/config/config_text.h"
#include "trainer/display/units.h"
#include "trainer/import/imported_model.h"
#include "trainer/initial_values.h"
#include "trainer/train_state.h"

namespace weft {
namespace {

ModelCheckpoint adapters_of(const ImportedAdapters& imported, const RunConfig& config, const ParamStore& params) {
  ModelCheckpoint model{.config = to_cfg(config)};
  for (const Param& p : params.params())
    if (p.spec.name.ends_with(".lora_a") || p.spec.name.ends_with(".lora_b"))
      model.shapes[p.spec.name] = dims_of(p.spec.shape);
  model.read = [&](const std::string& name, const ModelCheckpoint::Put& put) {
    std::vector<float> values(static_cast<size_t>(params.find(name)->numel()));
    imported.read(name, values.data());
    put(values.data(), std::ssize(values));
  };
  return model;
}

}  // namespace

void import_adapters(const std::string& folder, const std::string& base, const std::string& output) {
  const std::string checkpoint = resolve_checkpoint(base);
  RunConfig config = kept_config(checkpoint);
  if (config.model.lora.on())
    fail(ErrorKind::usage, fmt::format("--base {} contains adapters: give the model that is adapted", base));
  const ImportedAdapters imported = import_peft(folder, config.model);
  config.model.lora = imported.lora;
  config.parallel = {.dp = 1, .tp = 1};
  config.model.resolve(/*tp=*/1);
  ParamStore params(/*tp_rank=*/0, /*tp_size=*/1);
  const Transformer declared(config.model, params, /*num_positions=*/1);
  params.lay_out();

  ModelCheckpoint model = adapters_of(imported, config, params);
  for (const auto& [name, digest] : read_checkpoint_manifest(checkpoint).files)
    if (StoredModel::is_tokenizer(name)) model.tokenizers[name] = read_file(checkpoint + "/" + name);
  const bool is_new = !std::filesystem::exists(output);
  std::string written;
  try {
    TrainState state;
    state.adapters = keep_base(checkpoint, output, config.model.lora.scale());
    model.state = state.to_json();
    written = write_model_checkpoint(output, model);
  } catch (...) {
    std::filesystem::remove_all(base_root(output));
    if (std::error_code error; is_new) std::filesystem::remove(output, error);
    throw;
  }
  int64_t numel = 0;
  for (const auto& [name, shape] : model.shapes) numel += params.find(name)->numel();
  fmt::print("{}: {} parameters of adapters from {}, rank {}; base copied from {}\n", written, with_commas(numel),
             folder, config.model.lora.rank, checkpoint);
  fmt::print("  use it:    weft translate --checkpoint {}\n", output);
  fmt::print("  merge it:  weft average {} --last 1 --output DIR\n", output);
}

}  // namespace weft
