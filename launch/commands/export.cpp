// launch/commands/export.cpp: `weft export`: writes a checkpoint's model for another program: a file for PyTorch, or
// the folder of a translation engine.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "launch/commands.h"
#include "launch/open_model.h"
#include "launch/options/exchange_format.h"
#include "launch/options/options.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/pytorch_file.h"
#include "trainer/checkpoint/pytorch_weights.h"
#include "trainer/export/ctranslate2.h"
#include "trainer/export/huggingface.h"
#include "trainer/export/marian.h"
#include "trainer/report/units.h"

namespace weft {
namespace {

struct ExportRequest {
  std::string checkpoint, output;
  ExportFormat format = ExportFormat::pytorch;
  bool force = false, raw_weights = false;
};

bool parse(const std::vector<std::string>& args, ExportRequest& r) {
  Options options("export --checkpoint PATH --format FORMAT --output PATH [options]");
  options.add("checkpoint", r.checkpoint, kCheckpointSentence);
  options.add(
      "format", r.format,
      "pytorch: a safetensors file with the names and shapes of nn.Transformer; ctranslate2, huggingface, marian: "
      "a folder that CTranslate2, Hugging Face's transformers or Marian loads");
  options.add("output", r.output, "the file to write, or the new folder");
  options.add("raw-weights", r.raw_weights, kRawWeightsSentence);
  options.add("force", r.force, "replace an existing file, or the folder of an earlier export");
  if (!options.parse(args)) return false;
  for (const char* name : {"checkpoint", "output"}) options.require(name);
  if (r.format != ExportFormat::pytorch) return true;  // OutputFolder checks
  if (!r.force && std::filesystem::exists(r.output))
    fail(ErrorKind::usage, fmt::format("--output {} already exists: give another name, or --force", r.output));
  prepare_output(r.output);
  return true;
}

const char* python(bool value) { return value ? "True" : "False"; }

std::string python(FeedForwardActivation activation) {  // a name in nn.Transformer, or a function
  if (activation == FeedForwardActivation::gelu_tanh) return "nn.GELU('tanh')";
  const std::string name = print_value(activation);
  return name == "relu" || name == "gelu" ? fmt::format("\"{}\"", name) : "F." + name;
}

// Settings for loading the file in PyTorch.
void print_settings(const ModelConfig& c) {
  fmt::print("  in torch: nn.Transformer(d_model={}, nhead={}, num_encoder_layers={}, num_decoder_layers={},\n",
             c.width, c.heads, c.encoder_layers, c.decoder_layers);
  fmt::print("              dim_feedforward={}, activation={}, norm_first={}, batch_first=True)\n", c.feed_forward,
             python(c.activation), python(c.norm == NormPosition::pre));
  if (!c.final_norm) fmt::print("  without final norms: encoder.norm = decoder.norm = None\n");
  fmt::print("  embeddings times {}, positions {}{}\n",
             c.scale_embeddings ? fmt::format("sqrt({})", c.width) : std::string("1"), print_value(c.positions),
             c.position_offset == 0 ? "" : fmt::format(" from {}", c.position_offset));
  fmt::print("  the module that loads it: docs/pytorch.md\n");
}

void print_origin(const LoadedModel& model, const char* remark) {
  fmt::print("  {} parameters of {}, step {}{}\n", with_commas(model.replica().params().global_numel()), model.folder(),
             model.step(), remark);
}

void export_to_pytorch(const std::string& path, const LoadedModel& model) {
  const ModelConfig& c = model.config().model;
  write_pytorch_file(path, c, model.replica().params());
  fmt::print("{}: {} tensors in F32, {}\n", path, pytorch_layout(c, model.replica().params()).size(),
             format_bytes(std::filesystem::file_size(path)));
  print_origin(model, c.tying == Tying::none ? "" : "; tied tables appear under each of their names");
  print_settings(c);
}

void export_to_engine(const ExportRequest& r, const LoadedModel& model) {
  OutputFolder output(r.output, r.force);
  const ExportedModel exported{.config = model.config().model,
                               .params = model.replica().params(),
                               .source = model.source_tokenizer(),
                               .target = model.target_tokenizer(),
                               .beam = model.config().decode.beam,
                               .length_penalty = model.config().decode.length_penalty,
                               .folder = model.folder()};
  if (r.format == ExportFormat::ctranslate2) export_ctranslate2(exported, output);
  if (r.format == ExportFormat::huggingface) export_huggingface(exported, output);
  if (r.format == ExportFormat::marian) export_marian(exported, output);
  uint64_t bytes = 0;
  std::vector<std::string> names;
  for (const auto& [name, size] : output.commit()) {
    names.push_back(name);
    bytes += size;
  }
  fmt::print("{}: {}; {}\n", r.output, fmt::join(names, ", "), format_bytes(bytes));
  print_origin(model, "");
  fmt::print("  how to translate with it: docs/deploy.md\n");
}

}  // namespace

int run_export(const CommandContext& context) {
  ExportRequest request;
  if (!parse(context.args, request)) return 0;
  const auto alone = make_single_communicator();
  const std::string folder = resolve_checkpoint(request.checkpoint);
  const RunConfig config = config_for_use(folder, {}, /*ranks=*/1);
  if (request.format == ExportFormat::pytorch) require_pytorch_model(config.model);
  if (request.format == ExportFormat::huggingface) require_huggingface_model(config.model);
  if (request.format == ExportFormat::marian) require_marian_model(config.model);
  const Mesh mesh(*alone, config.parallel);
  const LoadedModel model(folder, config, mesh,
                          request.raw_weights ? StoredWeights::training : StoredWeights::evaluation);
  if (request.format == ExportFormat::pytorch) {
    export_to_pytorch(request.output, model);
  } else {
    export_to_engine(request, model);
  }
  if (!request.raw_weights && has_average(folder)) fmt::print("  the average of the weights (train.ema)\n");
  return 0;
}

}  // namespace weft
