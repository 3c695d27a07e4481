// trainer/export/ctranslate2.cpp: writes Weft's parameters under the names of CTranslate2's TransformerSpec.
//
// The names come from python/ctranslate2/specs/transformer_spec.py and attention_spec.py, release 4.8.5. Matrices are
// [out, in], as in Weft.
#include "trainer/export/ctranslate2.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "data/batch.h"
#include "tensor/error.h"
#include "trainer/export/formats/ctranslate2_file.h"
#include "trainer/export/weights.h"

namespace weft {
namespace {

int8_t activation_number(FeedForwardActivation activation) {  // returns a value of CTranslate2's ops::ActivationType
  switch (function_of(activation)) {
    case Activation::relu:
      return 0;
    case Activation::gelu_tanh:
      return 1;
    case Activation::silu:
      return 2;
    case Activation::gelu:
      return 3;
    case Activation::gelu_sigmoid:
      return 4;
    case Activation::sigmoid:
      break;
  }
  return 6;
}

class Ctranslate2Layout {
 public:
  explicit Ctranslate2Layout(const ExportedModel& model)
      : config_(model.config), weights_(model.config, model.params) {}

  Ctranslate2File build() {
    add_side("encoder", config_.encoder_layers);
    file_.small_number("encoder/embeddings_merge", 0);
    file_.flag("encoder/multi_query_attention", false);
    add_side("decoder", config_.decoder_layers);
    file_.short_number("decoder/alignment_layer", -1);
    file_.short_number("decoder/alignment_heads", 1);
    for (const char* flag : {"alibi", "alibi_use_positive_positions", "scale_alibi"})
      file_.flag(fmt::format("decoder/{}", flag), false);
    file_.flag("decoder/start_from_zero_embedding", config_.start_token == StartToken::zero);
    add_tables();
    return std::move(file_);
  }

 private:
  void add(const std::string& name, std::vector<int64_t> shape, const std::vector<std::string>& parts) {
    file_.array(name, std::move(shape), [this, parts] { return weights_.joined(parts); });
  }

  void add_tables() {
    const int64_t D = config_.width, target = config_.target_vocabulary;
    add("decoder/embeddings/weight", {target, D}, {weights_.target_table()});
    if (config_.tying == Tying::all) {
      file_.alias("encoder/embeddings_0/weight", "decoder/embeddings/weight");
    } else {
      add("encoder/embeddings_0/weight", {config_.source_vocabulary, D}, {weights_.source_table()});
    }
    if (config_.tying == Tying::none) {
      add("decoder/projection/weight", {target, D}, {weights_.output_table()});
    } else {
      file_.alias("decoder/projection/weight", "decoder/embeddings/weight");
    }
    if (config_.bias_output) add("decoder/projection/bias", {target}, {"output.bias"});
  }

  void add_side(const std::string& side, int64_t layers) {
    file_.short_number(side + "/num_heads", static_cast<int16_t>(config_.heads));
    file_.flag(side + "/pre_norm", config_.norm == NormPosition::pre);
    file_.small_number(side + "/activation", activation_number(config_.activation));
    file_.flag(side + "/scale_embeddings", config_.scale_embeddings);
    if (!is_rotary(config_.positions)) {
      const int64_t rows = exported_positions(config_);
      const bool is_source = side == "encoder";
      file_.array(side + "/position_encodings/encodings", {rows, config_.width},
                  [=, this] { return is_source ? weights_.source_positions(rows) : weights_.target_positions(rows); });
    }
    if (config_.embedding_norm)
      add_norm(side + "/layernorm_embedding", side == "encoder" ? "source_embedding.norm" : "target_embedding.norm");
    if (config_.final_norm) add_norm(side + "/layer_norm", side + ".norm");
    for (int64_t i = 0; i < layers; ++i) {
      const std::string name = fmt::format("{}/layer_{}", side, i), ours = fmt::format("{}.{}", side, i);
      add_self_attention(name + "/self_attention", ours + ".self_attention");
      if (side == "decoder") add_cross_attention(name + "/attention", ours + ".cross_attention");
      add_feed_forward(name + "/ffn", ours + ".feed_forward");
    }
  }

  void add_norm(const std::string& name, const std::string& ours) {
    add(name + "/gamma", {config_.width}, {ours + ".weight"});
    if (config_.norm_kind == NormKind::layer) add(name + "/beta", {config_.width}, {ours + ".bias"});
  }

  void add_linear(const std::string& name, int64_t out, int64_t in, bool bias, const std::vector<std::string>& parts) {
    std::vector<std::string> weights, biases;
    for (const std::string& part : parts) {
      weights.push_back(part + ".weight");
      biases.push_back(part + ".bias");
    }
    add(name + "/weight", {out, in}, weights);
    if (bias) add(name + "/bias", {out}, biases);
  }

  int64_t kv_width() const { return config_.num_kv_heads() * config_.head_size(); }

  void add_kv_heads(const std::string& name) {
    if (config_.num_kv_heads() != config_.heads)
      file_.number(name + "/num_heads_kv", static_cast<int32_t>(config_.num_kv_heads()));
  }

  void add_self_attention(const std::string& name, const std::string& ours) {
    const int64_t D = config_.width;
    add_norm(name + "/layer_norm", ours + ".norm");
    add_linear(name + "/linear_0", D + 2 * kv_width(), D, config_.bias_attention, weights_.self_projections(ours));
    add_linear(name + "/linear_1", D, D, config_.bias_attention, {ours + ".out"});
    add_kv_heads(name);
    if (!is_rotary(config_.positions)) return;
    file_.number(name + "/rotary_dim", 0);  // 0: all columns of a head
    file_.flag(name + "/rotary_interleave", config_.positions == Positions::rotary);
    file_.real(name + "/rotary_base", 10000);
  }

  void add_cross_attention(const std::string& name, const std::string& ours) {
    const int64_t D = config_.width;
    add_norm(name + "/layer_norm", ours + ".norm");
    add_linear(name + "/linear_0", D, D, config_.bias_attention, {ours + ".q"});
    add_linear(name + "/linear_1", 2 * kv_width(), D, config_.bias_attention, {ours + ".kv"});
    add_linear(name + "/linear_2", D, D, config_.bias_attention, {ours + ".out"});
    add_kv_heads(name);
  }

  // In a gated unit, `up` is [2, F, D]: first the gate's matrix, whose product is activated, then the values' matrix.
  void add_feed_forward(const std::string& name, const std::string& ours) {
    const int64_t D = config_.width, F = config_.feed_forward;
    const bool bias = config_.bias_feed_forward;
    add_norm(name + "/layer_norm", ours + ".norm");
    if (is_gated(config_.activation)) {
      add_half(name + "/linear_0", ours + ".up", 0);
      add_half(name + "/linear_0_noact", ours + ".up", 1);
    } else {
      add_linear(name + "/linear_0", F, D, bias, {ours + ".up"});
    }
    add_linear(name + "/linear_1", D, F, bias, {ours + ".down"});
  }

  void add_half(const std::string& name, const std::string& ours, int64_t half) {
    const int64_t D = config_.width, F = config_.feed_forward;
    file_.array(name + "/weight", {F, D}, [=, this] { return weights_.rows(ours + ".weight", half * F, F); });
    if (!config_.bias_feed_forward) return;
    file_.array(name + "/bias", {F}, [=, this] { return weights_.part(ours + ".bias", half * F, F); });
  }

  const ModelConfig& config_;
  Weights weights_;
  Ctranslate2File file_;
};

void require_one_name(const ExportedModel& model, int32_t id, const char* what) {
  const std::string source = model.source.piece(id), target = model.target.piece(id);
  if (source != target)
    fail(ErrorKind::usage, fmt::format("CTranslate2 needs the same piece for {} on both sides, but the source "
                                       "tokenizer uses {} and the target tokenizer {}",
                                       what, source, target));
}

std::string config_json(const ExportedModel& model) {
  const ModelConfig& c = model.config;
  const int32_t start = c.start_token == StartToken::eos ? SpecialIds::eos : SpecialIds::bos;
  nlohmann::json config = {{"add_source_bos", false},
                           {"add_source_eos", true},
                           {"bos_token", model.target.piece(SpecialIds::bos)},
                           {"decoder_start_token", model.target.piece(start)},
                           {"eos_token", model.target.piece(SpecialIds::eos)},
                           {"layer_norm_epsilon", nullptr},  // null means 1e-5, or 1e-6 for RMSNorm, as in Weft
                           {"multi_query_attention", c.num_kv_heads() != c.heads},
                           {"unk_token", model.target.piece(SpecialIds::unk)}};
  if (c.norm_eps > 0) config["layer_norm_epsilon"] = c.norm_eps;
  return config.dump(2) + "\n";
}

std::string vocabulary_json(const Tokenizer& tokenizer) { return nlohmann::json(pieces_of(tokenizer)).dump(2) + "\n"; }

}  // namespace

void export_ctranslate2(const ExportedModel& model, const OutputFolder& output) {
  require_one_name(model, SpecialIds::unk, "unknown tokens");
  require_one_name(model, SpecialIds::bos, "the start of a sentence");
  require_one_name(model, SpecialIds::eos, "the end of a sentence");
  Ctranslate2Layout layout(model);
  layout.build().write(output.file("model.bin"));
  output.write("config.json", config_json(model));
  copy_tokenizers(model, output);
  if (model.is_joint()) {
    output.write("shared_vocabulary.json", vocabulary_json(model.source));
    return;
  }
  output.write("source_vocabulary.json", vocabulary_json(model.source));
  output.write("target_vocabulary.json", vocabulary_json(model.target));
}

}  // namespace weft
