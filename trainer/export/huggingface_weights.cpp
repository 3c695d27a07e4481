// trainer/export/huggingface_weights.cpp: maps names and the order of columns, and adds rows for padding.
#include "trainer/export/huggingface_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tensor/math.h"

namespace weft {
namespace {

// Returns parameter values with padding, and with columns in the exported order.
class OrderedValues {
 public:
  explicit OrderedValues(const ExportedModel& model)
      : config_(model.config), weights_(model.config, model.params), padding_(padding_id(model)), D_(config_.width) {
    const bool in_pairs = config_.positions == Positions::interleaved;
    const int64_t num_sines = (D_ + 1) / 2;
    for (int64_t j = 0; j < D_; ++j) order_.push_back(!in_pairs ? j : j < num_sines ? 2 * j : 2 * (j - num_sines) + 1);
  }
  const ModelConfig& config() const { return config_; }
  const Weights& weights() const { return weights_; }

  Values positions() const {
    Values table;
    for (int64_t p = 0; p < kExportedPositions; ++p)
      for (int64_t j = 0; j < D_; ++j) table.push_back(static_cast<float>(sinusoid(PositionLayout::halves, p, j, D_)));
    return table;
  }
  Values table(const std::string& ours) const { return with_padding(columns(weights_.of(ours)), D_, 0); }
  Values output_bias() const {
    Values bias = config_.bias_output ? weights_.of("output.bias") : zeros(config_.target_vocabulary);
    return with_padding(std::move(bias), 1, kPaddingLogit);
  }
  Values vector(const std::string& ours) const { return columns(weights_.of(ours)); }  // [D]
  // from_width() returns `out` rows of a matrix [.., D], from row `first`; part() returns the same rows of its bias.
  Values from_width(const std::string& ours, int64_t first, int64_t out) const {
    return columns(weights_.rows(ours, first, out));
  }
  Values part(const std::string& ours, int64_t first, int64_t out) const { return weights_.part(ours, first, out); }
  Values to_width(const std::string& ours, int64_t in) const {  // [D, in]
    const Values matrix = weights_.of(ours);
    Values ordered;
    ordered.reserve(matrix.size());
    for (const int64_t from : order_)
      ordered.insert(ordered.end(), matrix.begin() + from * in, matrix.begin() + (from + 1) * in);
    return ordered;
  }
  static Values zeros(int64_t count) { return Values(static_cast<size_t>(count)); }

 private:
  Values columns(const Values& matrix) const {  // [.., D]
    Values ordered(matrix.size());
    for (size_t row = 0; row < matrix.size(); row += static_cast<size_t>(D_))
      for (size_t j = 0; j < static_cast<size_t>(D_); ++j)
        ordered[row + j] = matrix[row + static_cast<size_t>(order_[j])];
    return ordered;
  }
  Values with_padding(Values table, int64_t width, float value) const {
    table.insert(table.begin() + padding_ * width, static_cast<size_t>(width), value);
    return table;
  }

  const ModelConfig& config_;
  Weights weights_;
  int64_t padding_, D_;
  std::vector<int64_t> order_;  // for each exported column, its index in Weft's tensors
};

class HuggingFaceLayout {
 public:
  explicit HuggingFaceLayout(const ExportedModel& model)
      : values_(std::make_shared<const OrderedValues>(model)), config_(model.config), D_(config_.width) {}

  std::map<std::string, HuggingFaceTensor> build() {
    add_tables();
    for (const std::string side : {"encoder", "decoder"}) {
      add("model." + side + ".embed_positions.weight", {kExportedPositions, D_},
          [v = values_] { return v->positions(); });
      const int64_t layers = side == "encoder" ? config_.encoder_layers : config_.decoder_layers;
      for (int64_t i = 0; i < layers; ++i)
        add_block(side == "decoder", fmt::format("model.{}.layers.{}", side, i), fmt::format("{}.{}", side, i));
      if (config_.final_norm) add_norm("model." + side + ".layer_norm", side + ".norm");
    }
    return std::move(tensors_);
  }

 private:
  void add(const std::string& name, std::vector<int64_t> shape, MakeValues make) {
    tensors_[name] = {std::move(shape), std::move(make)};
  }

  void add_tables() {
    const int64_t source = config_.source_vocabulary + 1, target = config_.target_vocabulary + 1;
    const Weights& weights = values_->weights();
    if (config_.tying == Tying::all) {
      add_table("model.shared.weight", source, weights.source_table());
    } else {
      add_table("model.encoder.embed_tokens.weight", source, weights.source_table());
      add_table("model.decoder.embed_tokens.weight", target, weights.target_table());
    }
    if (config_.tying == Tying::none) add_table("lm_head.weight", target, weights.output_table());
    add("final_logits_bias", {1, target}, [v = values_] { return v->output_bias(); });
  }
  void add_table(const std::string& name, int64_t rows, const std::string& ours) {
    add(name, {rows, D_}, [v = values_, ours] { return v->table(ours); });
  }

  void add_norm(const std::string& name, const std::string& ours) {
    for (const char* part : {".weight", ".bias"})
      add(name + part, {D_}, [v = values_, from = ours + part] { return v->vector(from); });
  }

  // Adds `out` rows, from row `first`, of a linear map whose input has the model's width.
  void add_input(const std::string& name, const std::string& ours, int64_t first, int64_t out, bool has_bias) {
    add(name + ".weight", {out, D_}, [=, v = values_] { return v->from_width(ours + ".weight", first, out); });
    add(name + ".bias", {out},
        [=, v = values_] { return has_bias ? v->part(ours + ".bias", first, out) : v->zeros(out); });
  }
  void add_output(const std::string& name, const std::string& ours, int64_t in, bool has_bias) {
    add(name + ".weight", {D_, in}, [=, v = values_] { return v->to_width(ours + ".weight", in); });
    add(name + ".bias", {D_}, [=, v = values_, D = D_] { return has_bias ? v->vector(ours + ".bias") : v->zeros(D); });
  }

  void add_block(bool is_decoder, const std::string& name, const std::string& ours) {
    const bool bias = config_.bias_attention;
    const std::string self = ours + ".self_attention", cross = ours + ".cross_attention", ffn = ours + ".feed_forward";
    add_input(name + ".self_attn.q_proj", self + ".qkv", 0, D_, bias);
    add_input(name + ".self_attn.k_proj", self + ".qkv", D_, D_, bias);
    add_input(name + ".self_attn.v_proj", self + ".qkv", 2 * D_, D_, bias);
    add_output(name + ".self_attn.out_proj", self + ".out", D_, bias);
    add_norm(name + ".self_attn_layer_norm", self + ".norm");
    if (is_decoder) {
      add_input(name + ".encoder_attn.q_proj", cross + ".q", 0, D_, bias);
      add_input(name + ".encoder_attn.k_proj", cross + ".kv", 0, D_, bias);
      add_input(name + ".encoder_attn.v_proj", cross + ".kv", D_, D_, bias);
      add_output(name + ".encoder_attn.out_proj", cross + ".out", D_, bias);
      add_norm(name + ".encoder_attn_layer_norm", cross + ".norm");
    }
    add_input(name + ".fc1", ffn + ".up", 0, config_.feed_forward, config_.bias_feed_forward);
    add_output(name + ".fc2", ffn + ".down", config_.feed_forward, config_.bias_feed_forward);
    add_norm(name + ".final_layer_norm", ffn + ".norm");
  }

  std::shared_ptr<const OrderedValues> values_;
  const ModelConfig& config_;
  int64_t D_;
  std::map<std::string, HuggingFaceTensor> tensors_;
};

}  // namespace

int64_t padding_id(const ExportedModel& model) {
  return std::min(model.config.source_vocabulary, model.config.target_vocabulary);
}

std::map<std::string, HuggingFaceTensor> huggingface_tensors(const ExportedModel& model) {
  return HuggingFaceLayout(model).build();
}

}  // namespace weft
