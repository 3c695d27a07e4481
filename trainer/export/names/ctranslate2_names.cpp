// trainer/export/names/ctranslate2_names.cpp: lists the tensors side by side and block by block.
#include "trainer/export/names/ctranslate2_names.h"

#include <fmt/format.h>

namespace weft {
namespace {

using Form = ForeignTensor::Form;

class Ctranslate2Names {
 public:
  explicit Ctranslate2Names(const ModelConfig& config) : config_(config), D_(config.width) {}

  std::vector<ForeignTensor> build() {
    add_tables();
    for (const bool decoder : {false, true}) {
      const std::string side = decoder ? "decoder" : "encoder", ours = decoder ? "target" : "source";
      if (config_.positions == Positions::learned)
        names_.push_back({side + "/position_encodings/encodings",
                          Form::positions,
                          {config_.max_positions, D_},
                          ours + "_positions.weight"});
      if (config_.embedding_norm) add_norm(side + "/layernorm_embedding", ours + "_embedding.norm");
      if (config_.final_norm) add_norm(side + "/layer_norm", side + ".norm");
      for (int64_t i = 0; i < (decoder ? config_.decoder_layers : config_.encoder_layers); ++i)
        add_block(decoder, fmt::format("{}/layer_{}", side, i), fmt::format("{}.{}", side, i));
    }
    return std::move(names_);
  }

 private:
  void add_tables() {
    const std::vector<int64_t> target{config_.target_vocabulary, D_};
    if (config_.tying == Tying::all) {
      names_.push_back({kCtranslate2Target, Form::target_table, target, "embedding.weight"});
    } else {
      names_.push_back({kCtranslate2Target, Form::target_table, target, "target_embedding.weight"});
      names_.push_back(
          {kCtranslate2Source, Form::source_table, {config_.source_vocabulary, D_}, "source_embedding.weight"});
    }
    if (config_.tying == Tying::none)
      names_.push_back({kCtranslate2Output, Form::target_table, target, "output.weight"});
    if (config_.bias_output)
      names_.push_back({"decoder/projection/bias", Form::output_bias, {config_.target_vocabulary}, "output.bias"});
  }

  void add_norm(const std::string& name, const std::string& ours) {
    names_.push_back({name + "/gamma", Form::width, {D_}, ours + ".weight"});
    if (config_.norm_kind == NormKind::layer) names_.push_back({name + "/beta", Form::width, {D_}, ours + ".bias"});
  }

  // Rows of our matrix: `count` from row `first`. In the file, they begin at row `their_first` of a matrix with `all`.
  struct Rows {
    std::string ours;
    int64_t first = 0, count = 0, their_first = 0, all = 0;
  };
  void add_linear(const std::string& name, int64_t in, bool bias, const Rows& r) {
    const int64_t all = r.all > 0 ? r.all : r.count, part = all == r.count ? 0 : r.count;
    const Form matrix = in == D_ ? Form::from_width : Form::to_width;
    names_.push_back({name + "/weight", matrix, {all, in}, r.ours + ".weight", r.first, false, r.their_first, part});
    if (bias)
      names_.push_back({name + "/bias", Form::bias, {all}, r.ours + ".bias", r.first, false, r.their_first, part});
  }

  void add_self_attention(const std::string& name, const std::string& ours) {
    const int64_t keys_values = 2 * config_.num_kv_heads() * config_.head_size(), all = D_ + keys_values;
    const bool bias = config_.bias_attention;
    add_norm(name + "/layer_norm", ours + ".norm");
    if (config_.num_kv_heads() == config_.heads) {
      add_linear(name + "/linear_0", D_, bias, {.ours = ours + ".qkv", .count = all});
    } else {
      add_linear(name + "/linear_0", D_, bias, {.ours = ours + ".q", .count = D_, .all = all});
      add_linear(name + "/linear_0", D_, bias,
                 {.ours = ours + ".kv", .count = keys_values, .their_first = D_, .all = all});
    }
    add_linear(name + "/linear_1", D_, bias, {.ours = ours + ".out", .count = D_});
  }

  void add_cross_attention(const std::string& name, const std::string& ours) {
    const bool bias = config_.bias_attention;
    add_norm(name + "/layer_norm", ours + ".norm");
    add_linear(name + "/linear_0", D_, bias, {.ours = ours + ".q", .count = D_});
    add_linear(name + "/linear_1", D_, bias,
               {.ours = ours + ".kv", .count = 2 * config_.num_kv_heads() * config_.head_size()});
    add_linear(name + "/linear_2", D_, bias, {.ours = ours + ".out", .count = D_});
  }

  // In a gated unit, `up` is [2, F, D]: first the gate's matrix, whose product is activated, then the values' matrix.
  void add_block(bool decoder, const std::string& name, const std::string& ours) {
    add_self_attention(name + "/self_attention", ours + ".self_attention");
    if (decoder) add_cross_attention(name + "/attention", ours + ".cross_attention");
    const std::string up = ours + ".feed_forward.up", ffn = name + "/ffn";
    const int64_t F = config_.feed_forward;
    const bool bias = config_.bias_feed_forward;
    add_norm(ffn + "/layer_norm", ours + ".feed_forward.norm");
    add_linear(ffn + "/linear_0", D_, bias, {.ours = up, .count = F});
    if (is_gated(config_.activation))
      add_linear(ffn + "/linear_0_noact", D_, bias, {.ours = up, .first = F, .count = F});
    add_linear(ffn + "/linear_1", F, bias, {.ours = ours + ".feed_forward.down", .count = D_});
  }

  const ModelConfig& config_;
  int64_t D_;
  std::vector<ForeignTensor> names_;
};

}  // namespace

int8_t ctranslate2_activation(Activation activation) {
  switch (activation) {
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

std::vector<ForeignTensor> ctranslate2_names(const ModelConfig& config) { return Ctranslate2Names(config).build(); }

}  // namespace weft
