// trainer/export/huggingface.cpp: chooses a model's class, and writes its configuration and tokenizer files.
#include "trainer/export/huggingface.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "data/batch.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/export/huggingface_weights.h"

namespace weft {
namespace {

using nlohmann::json;

struct Family {
  const char *engine, *type, *architecture;
};
constexpr Family kMarian = {"transformers' MarianMTModel", "marian", "MarianMTModel"};
constexpr Family kPegasus = {"transformers' PegasusForConditionalGeneration", "pegasus",
                             "PegasusForConditionalGeneration"};

const Family& family_of(const ModelConfig& c) { return c.norm == NormPosition::post ? kMarian : kPegasus; }

std::string function_name(FeedForwardActivation activation) {  // returns a key of transformers' ACT2FN
  switch (activation) {
    case FeedForwardActivation::gelu_tanh:
      return "gelu_pytorch_tanh";
    case FeedForwardActivation::gelu_sigmoid:
      return "quick_gelu";
    default:
      return name_of_enum(activation);
  }
}

// The embedding of padding is a vector of zeros.
int64_t start_token_id(const ExportedModel& model) {
  return model.config.start_token == StartToken::zero ? padding_id(model) : model.config.start_id();
}

json model_config(const ExportedModel& model) {
  const ModelConfig& c = model.config;
  json config = {{"model_type", family_of(c).type},
                 {"architectures", {family_of(c).architecture}},
                 {"is_encoder_decoder", true},
                 {"vocab_size", c.source_vocabulary + 1},
                 {"d_model", c.width},
                 {"encoder_layers", c.encoder_layers},
                 {"decoder_layers", c.decoder_layers},
                 {"num_hidden_layers", c.encoder_layers},
                 {"encoder_attention_heads", c.heads},
                 {"decoder_attention_heads", c.heads},
                 {"encoder_ffn_dim", c.feed_forward},
                 {"decoder_ffn_dim", c.feed_forward},
                 {"activation_function", function_name(c.activation)},
                 {"scale_embedding", c.scale_embeddings},
                 {"static_position_embeddings", true},
                 {"max_position_embeddings", kExportedPositions},
                 {"tie_word_embeddings", c.tying != Tying::none},
                 {"dropout", c.dropout_residual},
                 {"attention_dropout", c.dropout_attention},
                 {"activation_dropout", c.dropout_feed_forward},
                 {"bos_token_id", SpecialIds::bos},
                 {"eos_token_id", SpecialIds::eos},
                 {"pad_token_id", padding_id(model)},
                 {"decoder_start_token_id", start_token_id(model)},
                 {"forced_eos_token_id", SpecialIds::eos},
                 {"torch_dtype", "float32"}};
  if (c.norm == NormPosition::post) {
    config["share_encoder_decoder_embeddings"] = c.tying == Tying::all;
    config["decoder_vocab_size"] = c.target_vocabulary + 1;
  }
  return config;
}

// Forbids padding, which Weft's vocabularies lack, and what Weft's search never predicts.
json generation_config(const ExportedModel& model) {
  const int64_t padding = padding_id(model);
  json forbidden = {{padding}, {SpecialIds::bos}};
  if (!model.allow_unknown) forbidden.push_back({SpecialIds::unk});
  json config = {{"bos_token_id", SpecialIds::bos},
                 {"eos_token_id", SpecialIds::eos},
                 {"pad_token_id", padding},
                 {"decoder_start_token_id", start_token_id(model)},
                 {"forced_eos_token_id", SpecialIds::eos},
                 {"bad_words_ids", forbidden},
                 {"max_length", 512},
                 {"num_beams", model.beam}};
  if (model.beam > 1) config["length_penalty"] = model.length_penalty;
  if (model.beam_kind == BeamKind::first) config["early_stopping"] = true;
  return config;
}

// Returns a name for padding that neither vocabulary contains.
std::string padding_name(const ExportedModel& model) {
  std::string name = "<pad>";
  for (const Tokenizer* tokenizer : {&model.source, &model.target}) {
    const std::vector<std::string> pieces = pieces_of(*tokenizer);
    while (std::find(pieces.begin(), pieces.end(), name) != pieces.end()) name += "_";
  }
  return name;
}

std::string vocabulary_with_padding(const Tokenizer& tokenizer, int64_t padding, const std::string& name) {
  std::vector<std::string> pieces = pieces_of(tokenizer);
  pieces.insert(pieces.begin() + padding, name);
  nlohmann::ordered_json ids;
  for (size_t id = 0; id < pieces.size(); ++id) ids[pieces[id]] = id;
  return ids.dump(2) + "\n";
}

json tokenizer_config(const ExportedModel& model, const std::string& padding) {
  return {{"tokenizer_class", "MarianTokenizer"},
          {"separate_vocabs", !model.is_joint()},
          {"source_lang", nullptr},
          {"target_lang", nullptr},
          {"unk_token", model.source.piece(SpecialIds::unk)},
          {"eos_token", model.source.piece(SpecialIds::eos)},
          {"pad_token", padding},
          {"model_max_length", kExportedPositions - 1},
          {"clean_up_tokenization_spaces", false}};
}

void write_tokenizer(const ExportedModel& model, const OutputFolder& output) {
  const std::string padding = padding_name(model);
  output.write("vocab.json", vocabulary_with_padding(model.source, padding_id(model), padding));
  if (!model.is_joint())
    output.write("target_vocab.json", vocabulary_with_padding(model.target, padding_id(model), padding));
  output.copy(model.source_file(), "source.spm");
  output.copy(model.target_file(), "target.spm");
  output.write("tokenizer_config.json", tokenizer_config(model, padding).dump(2) + "\n");
}

void write_weights(const ExportedModel& model, const std::string& path) {
  const std::map<std::string, HuggingFaceTensor> tensors = huggingface_tensors(model);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& [name, tensor] : tensors) shapes[name] = tensor.shape;
  SafetensorsWriter writer(path, shapes, {{"format", "pt"}});
  for (const auto& [name, tensor] : tensors) {
    const Values values = tensor.values();
    writer.write(values.data(), std::ssize(values));
  }
  writer.finish();
}

}  // namespace

void require_huggingface_model(const ModelConfig& c) {
  const char* engine = family_of(c).engine;
  const auto refuse = [&](const char* option, const std::string& value, const char* fits) {
    refuse_form(engine, option, value, fits);
  };
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  const bool post = c.norm == NormPosition::post;
  if (c.norm_kind != NormKind::layer) refuse("model.norm_kind", name_of_enum(c.norm_kind), "only layer is supported");
  if (c.epsilon() != formula_of(NormKind::layer).eps)
    refuse("model.norm_eps", fmt::format("{}", c.norm_eps), "only 1e-5 is supported");
  if (c.embedding_norm) refuse("model.embedding_norm", "true", "only false is supported");
  if (c.final_norm == post)
    refuse("model.final_norm", truth(c.final_norm),
           post ? "model.norm = post needs false" : "model.norm = pre needs true");
  if (c.positions != Positions::interleaved && c.positions != Positions::halves)
    refuse("model.positions", name_of_enum(c.positions), "only interleaved and halves are supported");
  if (c.position_offset != 0) refuse("model.position_offset", std::to_string(c.position_offset), "only 0 is supported");
  if (is_gated(c.activation)) refuse("model.activation", name_of_enum(c.activation), "gated units are not supported");
  if (c.num_kv_heads() != c.heads) refuse("model.kv_heads", std::to_string(c.kv_heads), "only 0 is supported");
  if (!post && c.tying != Tying::all) refuse("model.tying", name_of_enum(c.tying), "model.norm = pre needs all");
}

void export_huggingface(const ExportedModel& model, const OutputFolder& output) {
  require_huggingface_model(model.config);
  write_weights(model, output.file("model.safetensors"));
  output.write("config.json", model_config(model).dump(2) + "\n");
  output.write("generation_config.json", generation_config(model).dump(2) + "\n");
  write_tokenizer(model, output);
}

}  // namespace weft
