// trainer/export/names/huggingface_names.cpp: lists the tensors side by side and block by block.
#include "trainer/export/names/huggingface_names.h"

#include <fmt/format.h>

namespace weft {
namespace {

using Form = ForeignTensor::Form;

class TensorNames {
 public:
  explicit TensorNames(const ModelConfig& config) : config_(config), D_(config.width) {}

  std::vector<ForeignTensor> build() {
    add_tables();
    for (const bool decoder : {false, true}) {
      const std::string side = decoder ? "decoder" : "encoder", ours = decoder ? "target" : "source";
      const int64_t layers = decoder ? config_.decoder_layers : config_.encoder_layers;
      if (config_.positions == Positions::learned)
        add("model." + side + ".embed_positions.weight", Form::positions, {config_.max_positions, D_},
            ours + "_positions.weight");
      if (config_.embedding_norm) add_norm("model." + side + ".layernorm_embedding", ours + "_embedding.norm");
      for (int64_t i = 0; i < layers; ++i)
        add_block(decoder, fmt::format("model.{}.layers.{}", side, i), fmt::format("{}.{}", side, i));
      if (config_.final_norm) add_norm("model." + side + ".layer_norm", side + ".norm");
    }
    return std::move(names_);
  }

 private:
  void add(const std::string& name, Form form, std::vector<int64_t> shape, const std::string& ours, int64_t first = 0) {
    names_.push_back({name, form, std::move(shape), ours, first});
  }

  void add_tables() {
    const std::vector<int64_t> source{config_.source_vocabulary, D_}, target{config_.target_vocabulary, D_};
    if (config_.tying == Tying::all) {
      add("model.shared.weight", Form::target_table, target, "embedding.weight");
    } else {
      add("model.encoder.embed_tokens.weight", Form::source_table, source, "source_embedding.weight");
      add("model.decoder.embed_tokens.weight", Form::target_table, target, "target_embedding.weight");
    }
    if (config_.tying == Tying::none) add("lm_head.weight", Form::target_table, target, "output.weight");
    add("final_logits_bias", Form::output_bias, {1, config_.target_vocabulary}, "output.bias");
  }

  void add_norm(const std::string& name, const std::string& ours) {
    for (const char* part : {".weight", ".bias"}) add(name + part, Form::width, {D_}, ours + part);
  }
  // Adds `out` rows, from row `first`, of a linear map whose input has the model's width.
  void add_input(const std::string& name, const std::string& ours, int64_t first, int64_t out) {
    add(name + ".weight", Form::from_width, {out, D_}, ours + ".weight", first);
    add(name + ".bias", Form::bias, {out}, ours + ".bias", first);
  }
  void add_output(const std::string& name, const std::string& ours, int64_t in) {
    add(name + ".weight", Form::to_width, {D_, in}, ours + ".weight");
    add(name + ".bias", Form::width, {D_}, ours + ".bias");
  }

  void add_block(bool decoder, const std::string& name, const std::string& ours) {
    const std::string self = ours + ".self_attention", cross = ours + ".cross_attention", ffn = ours + ".feed_forward";
    add_input(name + ".self_attn.q_proj", self + ".qkv", 0, D_);
    add_input(name + ".self_attn.k_proj", self + ".qkv", D_, D_);
    add_input(name + ".self_attn.v_proj", self + ".qkv", 2 * D_, D_);
    add_output(name + ".self_attn.out_proj", self + ".out", D_);
    add_norm(name + ".self_attn_layer_norm", self + ".norm");
    if (decoder) {
      add_input(name + ".encoder_attn.q_proj", cross + ".q", 0, D_);
      add_input(name + ".encoder_attn.k_proj", cross + ".kv", 0, D_);
      add_input(name + ".encoder_attn.v_proj", cross + ".kv", D_, D_);
      add_output(name + ".encoder_attn.out_proj", cross + ".out", D_);
      add_norm(name + ".encoder_attn_layer_norm", cross + ".norm");
    }
    add_input(name + ".fc1", ffn + ".up", 0, config_.feed_forward);
    add_output(name + ".fc2", ffn + ".down", config_.feed_forward);
    add_norm(name + ".final_layer_norm", ffn + ".norm");
  }

  const ModelConfig& config_;
  int64_t D_;
  std::vector<ForeignTensor> names_;
};

}  // namespace

std::vector<ForeignTensor> huggingface_names(const ModelConfig& config) { return TensorNames(config).build(); }

}  // namespace weft
