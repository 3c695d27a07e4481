// launch/commands/import.cpp: `weft import` makes a checkpoint at step 0 from another program's weights.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "data/atomic_file.h"
#include "data/batch.h"
#include "launch/commands.h"
#include "launch/commands/import_adapters.h"
#include "launch/options/new_folder.h"
#include "launch/options/options.h"
#include "launch/options/tokenizer_options.h"
#include "model/transformer.h"
#include "tensor/error.h"
#include "trainer/checkpoint/model_checkpoint.h"
#include "trainer/config/config_text.h"
#include "trainer/display/units.h"
#include "trainer/export/formats/pytorch_file.h"
#include "trainer/import/imported_model.h"
#include "trainer/import/json_fields.h"
#include "trainer/inference/model_loader.h"
#include "trainer/inference/search_config.h"
#include "trainer/train_state.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

enum class ForeignFormat : uint8_t { automatic, ctranslate2, huggingface, marian, peft, pytorch };
constexpr EnumNames<ForeignFormat, 6> enum_names(ForeignFormat) {
  return {{{"auto", ForeignFormat::automatic},
           {"ctranslate2", ForeignFormat::ctranslate2},
           {"huggingface", ForeignFormat::huggingface},
           {"marian", ForeignFormat::marian},
           {"peft", ForeignFormat::peft},
           {"pytorch", ForeignFormat::pytorch}}};
}

struct ImportRequest {
  ForeignFormat format = ForeignFormat::automatic;
  std::string from, base, weights, config, output;
  std::string tokenizer, source_tokenizer, target_tokenizer;
};

ForeignFormat format_of(const ImportRequest& r) {
  if (r.from.empty()) return ForeignFormat::pytorch;
  if (r.format != ForeignFormat::automatic) return r.format;
  if (!fs::is_directory(r.from)) return ForeignFormat::marian;
  if (fs::exists(r.from + "/adapter_config.json")) return ForeignFormat::peft;
  if (fs::exists(r.from + "/weft_transformer.py")) return ForeignFormat::pytorch;
  if (!fs::exists(r.from + "/config.json")) return ForeignFormat::marian;
  return fs::exists(r.from + "/model.bin") ? ForeignFormat::ctranslate2 : ForeignFormat::huggingface;
}

// If --weights is a folder, takes the weights from it, and also the tokenizers unless options name tokenizers.
void take_files_of_folder(ImportRequest& r) {
  if (std::error_code none; !fs::is_directory(r.weights, none)) return;
  const std::string folder = r.weights;
  r.weights = folder + "/model.safetensors";
  if (!r.tokenizer.empty() || !r.source_tokenizer.empty() || !r.target_tokenizer.empty()) return;
  if (fs::exists(folder + "/tokenizer.model") || fs::exists(folder + "/source.model")) r.tokenizer = folder;
}

// The model of --from contains everything that the other options name.
void require_alone(const ImportRequest& r) {
  for (const auto& [option, value] : {std::pair("--weights", r.weights),
                                      {"--config", r.config},
                                      {"--tokenizer", r.tokenizer},
                                      {"--source-tokenizer", r.source_tokenizer},
                                      {"--target-tokenizer", r.target_tokenizer}})
    if (!value.empty())
      fail(ErrorKind::usage, fmt::format("{} cannot be combined with --from, which names the whole model", option));
  if (!fs::exists(r.from)) fail(ErrorKind::usage, fmt::format("--from {} does not exist", r.from));
  if (r.format != ForeignFormat::automatic && r.format != ForeignFormat::marian && !fs::is_directory(r.from))
    fail(ErrorKind::usage, fmt::format("--from {} is not a folder", r.from));
}

void require_weights(const Options& options, ImportRequest& r) {
  for (const char* name : {"weights", "config"}) options.require(name);
  take_files_of_folder(r);
  find_tokenizers(r.tokenizer, r.source_tokenizer, r.target_tokenizer);
  check_tokenizer_files(r.tokenizer, r.source_tokenizer, r.target_tokenizer);
  if (r.tokenizer.empty() && r.source_tokenizer.empty()) options.require("tokenizer");
}

bool parse(const std::vector<std::string>& args, ImportRequest& r) {
  Options options(
      "import --from PATH --output DIR | --weights PATH --config FILE.cfg --output DIR [options]\n\n"
      "Makes a checkpoint from another program's model, to translate with it or to continue training. The model is a\n"
      "folder of Hugging Face's transformers or a model of Marian (docs/foreign-models.md), or weights of PyTorch's\n"
      "nn.Transformer (docs/pytorch.md).\n\n"
      "  weft import --from opus-mt-en-de --output imported\n"
      "  weft import --from marian/model.npz --output imported\n"
      "  weft import --from adapters --base imported --output adapted\n"
      "  weft import --weights model.safetensors --config my.cfg --tokenizer spm.model --output imported");
  options.add("from", r.from,
              "folder with config.json, model.safetensors and SentencePiece models of a MarianMTModel, "
              "M2M100ForConditionalGeneration (M2M-100, NLLB), MBartForConditionalGeneration or "
              "PegasusForConditionalGeneration; or a .npz or .bin file of Marian with its vocabularies in the same "
              "folder, or that folder; or a folder of any format that weft export has written");
  options.add("base", r.base,
              "run or checkpoint of the model that --from adapts, if --from is a folder of adapters (peft)");
  options.add("format", r.format,
              "program that wrote the model of --from; auto = inferred from the files of the folder");
  options.add("weights", r.weights,
              "safetensors file with the tensor names and shapes of nn.Transformer, or a folder with such a "
              "model.safetensors and, optionally, tokenizers, as written by weft export --format pytorch");
  options.add("config", r.config, ".cfg file whose [model] section describes the model");
  add_tokenizer_options(options, r.tokenizer, r.source_tokenizer, r.target_tokenizer);
  options.add("output", r.output,
              "new or empty folder for the checkpoint; translate, score, --train.init and others can use this folder");
  if (!options.parse(args)) return false;
  r.from.empty() ? require_weights(options, r) : require_alone(r);
  if (format_of(r) == ForeignFormat::peft) options.require("base");
  if (r.from.empty() && options.given("format")) fail(ErrorKind::usage, "--format is the format of --from");
  if (!r.base.empty() && format_of(r) != ForeignFormat::peft)
    fail(ErrorKind::usage, "--base is the model of adapters, but --from is not a folder of peft");
  options.require("output");
  require_new_folder(r.output);
  return true;
}

std::map<std::string, std::string> tokenizer_files(const ImportRequest& r) {
  if (!r.tokenizer.empty()) return {{"tokenizer.model", read_file(r.tokenizer)}};
  return {{"source.model", read_file(r.source_tokenizer)}, {"target.model", read_file(r.target_tokenizer)}};
}

void take_vocabulary(int64_t& configured, const char* option, const std::string& tokenizer, const std::string& config) {
  const int64_t entries = Tokenizer(tokenizer).size();
  if (configured != 0 && configured != entries)
    fail(ErrorKind::usage, fmt::format("{}: {} = {}, but the tokenizer {} has {} entries: set the option to 0, or give "
                                       "the tokenizer with which the weights were trained",
                                       config, option, configured, tokenizer, entries));
  configured = entries;
}

// Takes the sizes of the vocabularies from the tokenizers.
void complete(RunConfig& config, const ImportRequest& r) {
  const std::string& source = r.tokenizer.empty() ? r.source_tokenizer : r.tokenizer;
  const std::string& target = r.tokenizer.empty() ? r.target_tokenizer : r.tokenizer;
  ModelConfig& m = config.model;
  take_vocabulary(m.source_vocabulary, "model.source_vocabulary", source, r.config);
  take_vocabulary(m.target_vocabulary, "model.target_vocabulary", target, r.config);
  if (m.tying == Tying::all && source != target && !same_pieces(Tokenizer(source), Tokenizer(target)))
    fail(ErrorKind::usage, fmt::format("{}: model.tying = all needs one vocabulary for both sides: use --tokenizer, or "
                                       "set model.tying = output",
                                       r.config));
  config.parallel = {.dp = 1, .tp = 1};
  m.resolve(/*tp=*/1);
}

RunConfig read_config(const ImportRequest& r) {
  RunConfig config;
  apply_cfg_file(r.config, config);
  complete(config, r);
  return config;
}

ImportedModel import_pytorch(const ImportRequest& r, RunConfig config) {
  ImportedModel imported{.config = std::move(config), .tokenizers = tokenizer_files(r), .read = {}};
  const auto params = std::make_shared<ParamStore>(/*tp_rank=*/0, /*tp_size=*/1);  // names, shapes and offsets
  const Transformer model(imported.config.model, *params, /*num_positions=*/1);
  params->lay_out();
  const auto all =
      std::make_shared<const std::vector<float>>(read_pytorch_file(r.weights, imported.config.model, *params));
  imported.read = [params, all](const std::string& name, float* values) {
    const Param& p = *params->find(name);
    std::copy_n(all->data() + p.offset, p.numel(), values);
  };
  return imported;
}

// Returns the lines of a section of a .cfg file. Values of an untrusted file must not contain further lines.
std::string cfg_section(const std::string& name, const JsonFields& json, const nlohmann::json& options) {
  std::string text = fmt::format("[{}]\n", name);
  for (const auto& [key, value] : options.items()) {
    const std::string line = fmt::format("{} = {}", key, value.is_string() ? value.get<std::string>() : value.dump());
    if (printable(line, line.size()) != line)
      json.refuse(fmt::format("the option '{}' of {} is damaged", printable(key), name));
    text += line + "\n";
  }
  return text;
}

// A folder that `weft export --format pytorch` has written: its config.json contains the options of model and search.
ImportedModel import_pytorch_folder(const std::string& folder) {
  const std::string file = folder + "/config.json";
  const JsonFields json(file);
  for (const char* section : {"model", "decode", "special_ids"})
    if (!json.has(section) || !json[section].is_object()) json.refuse(fmt::format("{} is missing", section));
  nlohmann::json model = json["model"];
  if (JsonFields(file, model).text("positions", "") != name_of_enum(Positions::learned)) model.erase("max_positions");
  RunConfig config;
  apply_cfg(cfg_section("model", json, model) + cfg_section("decode", json, json["decode"]), file, config);
  const int64_t start = JsonFields(file, json["special_ids"]).whole("start", SpecialIds::bos);
  if (start < 0) config.model.start_token = StartToken::zero;
  if (start == SpecialIds::eos) config.model.start_token = StartToken::eos;
  ImportRequest r{.weights = folder, .config = file};
  take_files_of_folder(r);
  find_tokenizers(r.tokenizer, r.source_tokenizer, r.target_tokenizer);
  check_tokenizer_files(r.tokenizer, r.source_tokenizer, r.target_tokenizer);
  if (r.tokenizer.empty() && r.source_tokenizer.empty())
    fail(ErrorKind::checkpoint, fmt::format("{} contains neither tokenizer.model nor source.model", folder));
  complete(config, r);
  return import_pytorch(r, std::move(config));
}

ImportedModel import_model(const ImportRequest& r) {
  switch (format_of(r)) {
    case ForeignFormat::ctranslate2:
      return import_ctranslate2(r.from);
    case ForeignFormat::marian:
      return import_marian(r.from);
    case ForeignFormat::pytorch:
      return import_pytorch_folder(r.from);
    default:
      return import_huggingface(r.from);
  }
}

// Returns the checkpoint's folder.
std::string save(const std::string& output, const ImportedModel& imported, const ParamStore& params) {
  ModelCheckpoint model{
      .state = TrainState().to_json(), .config = to_cfg(imported.config), .tokenizers = imported.tokenizers};
  for (const Param& p : params.params()) model.shapes[p.spec.name] = dims_of(p.spec.shape);
  model.read = [&](const std::string& name, const ModelCheckpoint::Put& put) {
    std::vector<float> values(static_cast<size_t>(params.find(name)->numel()));
    imported.read(name, values.data());
    put(values.data(), std::ssize(values));
  };
  return write_model_checkpoint(output, model);
}

// Values from another program's files must be values that `weft translate` accepts.
void check_decoding(const ImportedModel& imported, const std::string& from) {
  try {
    beam_options(imported.config.decode);
  } catch (const Error& error) {
    fail(ErrorKind::checkpoint, fmt::format("{}: the options of the search: {}", from, error.what()));
  }
}

}  // namespace

int run_import(const CommandContext& context) {
  ImportRequest request;
  if (!parse(context.args, request)) return 0;
  if (format_of(request) == ForeignFormat::peft) {
    import_adapters(request.from, request.base, request.output);
    return 0;
  }
  const ImportedModel imported =
      request.from.empty() ? import_pytorch(request, read_config(request)) : import_model(request);
  check_decoding(imported, request.from.empty() ? request.config : request.from);
  ParamStore params(/*tp_rank=*/0, /*tp_size=*/1);
  const Transformer model(imported.config.model, params, /*num_positions=*/1);
  params.lay_out();
  const std::string folder = save(request.output, imported, params);

  fmt::print("{}: {} parameters from {}\n", folder, with_commas(params.global_numel()),
             request.from.empty() ? request.weights : request.from);
  fmt::print("  vocabulary {} / {}; all numbers are finite and were copied exactly\n",
             with_commas(imported.config.model.source_vocabulary),
             with_commas(imported.config.model.target_vocabulary));
  for (const std::string& option : imported.unused_options)
    fmt::print("  {} of the other program's search is not used: Weft has no such option\n", option);
  fmt::print("  use it:    weft translate --checkpoint {}\n", request.output);
  fmt::print("  train it:  weft train --config {}/config.cfg --train.init={} ...\n", folder, request.output);
  return 0;
}

}  // namespace weft
