// launch/commands/export.cpp: `weft export` writes a checkpoint's model to a folder for a different program.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "launch/commands.h"
#include "launch/open_model.h"
#include "launch/options/options.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/stored_model.h"
#include "trainer/config/config_text.h"
#include "trainer/display/units.h"
#include "trainer/export/ctranslate2.h"
#include "trainer/export/huggingface.h"
#include "trainer/export/marian.h"
#include "trainer/export/peft.h"
#include "trainer/export/pytorch.h"
#include "trainer/export/pytorch_weights.h"

namespace weft {
namespace {

enum class ExportFormat : uint8_t { pytorch, ctranslate2, huggingface, marian, peft };
constexpr EnumNames<ExportFormat, 5> enum_names(ExportFormat) {
  return {{{"pytorch", ExportFormat::pytorch},
           {"ctranslate2", ExportFormat::ctranslate2},
           {"huggingface", ExportFormat::huggingface},
           {"marian", ExportFormat::marian},
           {"peft", ExportFormat::peft}}};
}

struct ExportRequest {
  std::string checkpoint, output;
  ExportFormat format = ExportFormat::pytorch;
  bool force = false, raw_weights = false;
};

bool parse(const std::vector<std::string>& args, ExportRequest& r) {
  Options options(
      "export --checkpoint PATH --format FORMAT --output PATH [options]\n\n"
      "Writes a model to a folder that another program loads (docs/deploy.md).\n\n"
      "  weft export --checkpoint runs/mine --format ctranslate2 --output exported");
  options.add("checkpoint", r.checkpoint, kCheckpointSentence);
  options.add(
      "format", r.format,
      "program that will load the model: ctranslate2, huggingface (transformers), marian, peft (only the adapters of a "
      "run with lora.rank), or pytorch (weights of nn.Transformer and a Python module that translates)");
  options.add("output", r.output, "new folder for the model");
  options.add("raw-weights", r.raw_weights, kRawWeightsSentence);
  options.add("force", r.force, "replace the folder of an earlier export");
  if (!options.parse(args)) return false;
  for (const char* name : {"checkpoint", "output"}) options.require(name);
  return true;
}

void commit(OutputFolder& output, const std::string& path) {
  uint64_t bytes = 0;
  std::vector<std::string> names;
  for (const auto& [name, size] : output.commit()) {
    names.push_back(name);
    bytes += size;
  }
  fmt::print("{}: {}; {}\n", path, fmt::join(names, ", "), format_bytes(bytes));
}

void write_adapters(const ExportRequest& r, const std::string& checkpoint) {
  const ModelConfig config = kept_config(checkpoint).model;
  if (!config.lora.on())
    fail(ErrorKind::usage, fmt::format("{} contains no adapters (lora.rank): use another --format", checkpoint));
  const StoredModel stored(checkpoint, weights_to_use(r.raw_weights, checkpoint));
  OutputFolder output(r.output, r.force);
  export_peft(config, stored, output);
  commit(output, r.output);
  fmt::print("  adapters of {}, for the model {}\n", checkpoint, base_of(checkpoint));
}

void write_folder(const ExportRequest& r, const LoadedModel& model) {
  OutputFolder output(r.output, r.force);
  const DecodeConfig& decode = model.config().decode;
  const ExportedModel exported{.config = model.config().model,
                               .params = model.replica().params(),
                               .source = model.source_tokenizer(),
                               .target = model.target_tokenizer(),
                               .beam = decode.beam,
                               .length_penalty = decode.length_penalty,
                               .length_penalty_kind = decode.length_penalty_kind,
                               .beam_kind = decode.beam_kind,
                               .max_length_factor = decode.max_length_factor,
                               .max_length_extra = decode.max_length_extra,
                               .min_length = decode.min_length,
                               .allow_unknown = decode.allow_unknown,
                               .folder = model.folder()};
  if (r.format == ExportFormat::ctranslate2) export_ctranslate2(exported, output);
  if (r.format == ExportFormat::huggingface) export_huggingface(exported, output);
  if (r.format == ExportFormat::marian) export_marian(exported, output);
  if (r.format == ExportFormat::pytorch) export_pytorch(exported, output);
  commit(output, r.output);
  fmt::print("  {} parameters of {}, step {}\n", with_commas(model.replica().params().global_numel()), model.folder(),
             model.step());
  fmt::print("  docs/deploy.md shows how to translate with this folder\n");
}

}  // namespace

int run_export(const CommandContext& context) {
  ExportRequest request;
  if (!parse(context.args, request)) return 0;
  const auto alone = make_single_communicator();
  const CheckpointLease lease = lease_checkpoint(request.checkpoint);
  const std::string& folder = lease.folder;
  if (request.format == ExportFormat::peft) {
    write_adapters(request, folder);
    return 0;
  }
  const RunConfig config = config_for_use(folder, {}, /*ranks=*/1);
  if (request.format == ExportFormat::pytorch) require_pytorch_model(config.model);
  if (request.format == ExportFormat::huggingface) require_huggingface_model(config.model);
  if (request.format == ExportFormat::marian) require_marian_model(config.model);
  const Mesh mesh(*alone, config.parallel);
  const LoadedModel model(folder, config, mesh, weights_to_use(request.raw_weights, folder));
  write_folder(request, model);
  if (!request.raw_weights && has_average(folder)) fmt::print("  contains the weights' moving average (train.ema)\n");
  return 0;
}

}  // namespace weft
