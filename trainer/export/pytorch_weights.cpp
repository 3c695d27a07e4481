// trainer/export/pytorch_weights.cpp: builds the table of names and shapes, block by block.
#include "trainer/export/pytorch_weights.h"

#include "tensor/error.h"

namespace weft {
namespace {

class PytorchLayout {
 public:
  PytorchLayout(const ModelConfig& config, const ParamStore& params) : config_(config), params_(params) {}

  std::vector<PytorchTensor> build() {
    const int64_t D = config_.width;
    add_tables();
    for (const char* name : {"source_positions.weight", "target_positions.weight"})  // positions = learned
      if (const Param* p = params_.find(name)) tensors_.push_back({name, {p->spec.shape[0], D}, {p}});
    for (int64_t i = 0; i < config_.encoder_layers; ++i)
      add_encoder_block(fmt::format("encoder.layers.{}", i), fmt::format("encoder.{}", i));
    for (int64_t i = 0; i < config_.decoder_layers; ++i)
      add_decoder_block(fmt::format("decoder.layers.{}", i), fmt::format("decoder.{}", i));
    if (config_.final_norm)
      for (const char* norm : {"encoder.norm", "decoder.norm"}) add_norm(norm, norm);
    return std::move(tensors_);
  }

 private:
  const Param* param(const std::string& name) const {
    const Param* p = params_.find(name);
    require(p != nullptr, ErrorKind::internal, "the parameters do not match the configuration's model");
    return p;
  }

  // Adds `parts`, concatenated along dimension 0. A bias that the model lacks is written as zeros.
  void add(const std::string& name, std::vector<int64_t> shape, const std::vector<std::string>& parts) {
    PytorchTensor tensor{name, std::move(shape), {}};
    for (const std::string& part : parts) tensor.parts.push_back(param(part));
    tensors_.push_back(std::move(tensor));
  }
  void add_bias(const std::string& name, int64_t size, bool present, const std::vector<std::string>& parts) {
    add(name, {size}, present ? parts : std::vector<std::string>{});
  }

  void add_tables() {
    const int64_t D = config_.width, source = config_.source_vocabulary, target = config_.target_vocabulary;
    const bool joint = config_.tying == Tying::all;
    const std::string target_table = joint ? "embedding.weight" : "target_embedding.weight";
    add("source_embedding.weight", {source, D}, {joint ? "embedding.weight" : "source_embedding.weight"});
    add("target_embedding.weight", {target, D}, {target_table});
    add("output.weight", {target, D}, {config_.tying == Tying::none ? "output.weight" : target_table});
    if (config_.bias_output) add("output.bias", {target}, {"output.bias"});
  }

  void add_norm(const std::string& name, const std::string& ours) {
    add(name + ".weight", {config_.width}, {ours + ".weight"});
    add(name + ".bias", {config_.width}, {ours + ".bias"});
  }

  // `projections` lists Weft's fused linear maps, which together form in_proj.
  void add_attention(const std::string& name, const std::string& ours, const std::vector<std::string>& projections) {
    const int64_t D = config_.width;
    std::vector<std::string> weights, biases;
    for (const std::string& p : projections) {
      weights.push_back(ours + "." + p + ".weight");
      biases.push_back(ours + "." + p + ".bias");
    }
    add(name + ".in_proj_weight", {3 * D, D}, weights);
    add_bias(name + ".in_proj_bias", 3 * D, config_.bias_attention, biases);
    add(name + ".out_proj.weight", {D, D}, {ours + ".out.weight"});
    add_bias(name + ".out_proj.bias", D, config_.bias_attention, {ours + ".out.bias"});
  }

  void add_feed_forward(const std::string& block, const std::string& ours) {
    const int64_t D = config_.width, F = config_.feed_forward;
    add(block + ".linear1.weight", {F, D}, {ours + ".up.weight"});
    add_bias(block + ".linear1.bias", F, config_.bias_feed_forward, {ours + ".up.bias"});
    add(block + ".linear2.weight", {D, F}, {ours + ".down.weight"});
    add_bias(block + ".linear2.bias", D, config_.bias_feed_forward, {ours + ".down.bias"});
  }

  void add_encoder_block(const std::string& name, const std::string& ours) {
    add_attention(name + ".self_attn", ours + ".self_attention", {"qkv"});
    add_feed_forward(name, ours + ".feed_forward");
    add_norm(name + ".norm1", ours + ".self_attention.norm");
    add_norm(name + ".norm2", ours + ".feed_forward.norm");
  }

  void add_decoder_block(const std::string& name, const std::string& ours) {
    add_attention(name + ".self_attn", ours + ".self_attention", {"qkv"});
    add_attention(name + ".multihead_attn", ours + ".cross_attention", {"q", "kv"});
    add_feed_forward(name, ours + ".feed_forward");
    add_norm(name + ".norm1", ours + ".self_attention.norm");
    add_norm(name + ".norm2", ours + ".cross_attention.norm");
    add_norm(name + ".norm3", ours + ".feed_forward.norm");
  }

  const ModelConfig& config_;
  const ParamStore& params_;
  std::vector<PytorchTensor> tensors_;
};

}  // namespace

void require_pytorch_model(const ModelConfig& c) {
  const auto refuse = [](const std::string& option) {
    fail(ErrorKind::usage, fmt::format("PyTorch's nn.Transformer does not support {}", option));
  };
  if (c.norm_kind != NormKind::layer) refuse(fmt::format("model.norm_kind = {}", name_of_enum(c.norm_kind)));
  if (c.embedding_norm) refuse("model.embedding_norm = true");
  if (is_gated(c.activation)) refuse(fmt::format("model.activation = {}", name_of_enum(c.activation)));
  if (c.num_kv_heads() != c.heads) refuse(fmt::format("model.kv_heads = {}", c.kv_heads));
  if (is_rotary(c.positions)) refuse(fmt::format("model.positions = {}", name_of_enum(c.positions)));
}

std::vector<PytorchTensor> pytorch_layout(const ModelConfig& config, const ParamStore& params) {
  require_pytorch_model(config);
  return PytorchLayout(config, params).build();
}

}  // namespace weft
