// launch/commands/export.cpp: `weft export`: writes a checkpoint's model to a file for another program.
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "data/atomic_file.h"
#include "launch/commands.h"
#include "launch/open_model.h"
#include "launch/options/exchange_format.h"
#include "launch/options/options.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/pytorch_file.h"
#include "trainer/checkpoint/pytorch_weights.h"
#include "trainer/report/units.h"

namespace weft {
namespace {

struct ExportRequest {
  std::string checkpoint, output;
  ExchangeFormat format = ExchangeFormat::pytorch;
  bool force = false, raw_weights = false;
};

bool parse(const std::vector<std::string>& args, ExportRequest& r) {
  Options options("export --checkpoint PATH --output FILE.safetensors [options]");
  options.add("checkpoint", r.checkpoint, kCheckpointSentence);
  options.add("format", r.format, "pytorch: safetensors with the names and shapes of nn.Transformer");
  options.add("output", r.output, "the file to write");
  options.add("raw-weights", r.raw_weights, kRawWeightsSentence);
  options.add("force", r.force, "replace an existing file");
  if (!options.parse(args)) return false;
  for (const char* name : {"checkpoint", "output"}) options.require(name);
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

}  // namespace

int run_export(const CommandContext& context) {
  ExportRequest request;
  if (!parse(context.args, request)) return 0;
  const auto alone = make_single_communicator();
  const std::string folder = resolve_checkpoint(request.checkpoint);
  const RunConfig config = config_for_use(folder, {}, /*ranks=*/1);
  require_pytorch_model(config.model);
  const Mesh mesh(*alone, config.parallel);
  const StoredWeights weights = request.raw_weights ? StoredWeights::training : StoredWeights::evaluation;
  const LoadedModel model(folder, config, mesh, weights);
  const ModelConfig& c = model.config().model;
  write_pytorch_file(request.output, c, model.replica().params());

  fmt::print("{}: {} tensors in F32, {}\n", request.output, pytorch_layout(c, model.replica().params()).size(),
             format_bytes(std::filesystem::file_size(request.output)));
  const bool is_average = weights == StoredWeights::evaluation && has_average(folder);
  fmt::print("  {} parameters of {}, step {}{}{}\n", with_commas(model.replica().params().global_numel()), folder,
             model.step(), is_average ? ", their average (train.ema)" : "",
             c.tying == Tying::none ? "" : "; tied tables appear under each of their names");
  print_settings(c);
  return 0;
}

}  // namespace weft
