// trainer/export/names/marian_names.cpp: lists Marian's tensors block by block.
#include "trainer/export/names/marian_names.h"

#include <fmt/format.h>

namespace weft {
namespace {

using Form = ForeignTensor::Form;

class MarianNames {
 public:
  explicit MarianNames(const ModelConfig& config)
      : config_(config), D_(config.width), norm_end_(config.norm == NormPosition::pre ? "_pre" : "") {}

  std::vector<ForeignTensor> build(const MarianTables& tables) {
    add_tables(tables);
    for (const bool decoder : {false, true}) {
      const std::string side = decoder ? "decoder" : "encoder";
      if (config_.embedding_norm)
        add_norm(side + "_emb", decoder ? "target_embedding.norm" : "source_embedding.norm", "_pre");
      for (int64_t i = 0; i < (decoder ? config_.decoder_layers : config_.encoder_layers); ++i)
        add_block(decoder, fmt::format("{}_l{}", side, i + 1), fmt::format("{}.{}", side, i));
      if (config_.final_norm) add_norm(side + "_top", side + ".norm", "");
    }
    return std::move(names_);
  }

 private:
  void add_tables(const MarianTables& t) {
    const std::vector<int64_t> source{config_.source_vocabulary, D_}, target{config_.target_vocabulary, D_};
    if (config_.tying == Tying::all) {
      names_.push_back({t.target, Form::target_table, target, "embedding.weight"});
    } else {
      names_.push_back({t.source, Form::source_table, source, "source_embedding.weight"});
      names_.push_back({t.target, Form::target_table, target, "target_embedding.weight"});
    }
    if (config_.tying == Tying::none) {
      const std::vector<int64_t> output = t.output_transposed ? std::vector{target[1], target[0]} : target;
      names_.push_back({t.output, Form::target_table, output, "output.weight", 0, t.output_transposed});
    }
    add_vector("decoder_ff_logit_out_b", Form::output_bias, "output.bias", 0, config_.target_vocabulary);
  }

  void add_vector(const std::string& name, Form form, const std::string& ours, int64_t first, int64_t count) {
    names_.push_back({name, form, {1, count}, ours, first});
  }
  void add_norm(const std::string& name, const std::string& ours, const std::string& end) {
    add_vector(name + "_ln_scale" + end, Form::width, ours + ".weight", 0, D_);
    add_vector(name + "_ln_bias" + end, Form::width, ours + ".bias", 0, D_);
  }

  struct Rows {  // rows of our matrix [.., in]
    std::string matrix;
    int64_t first, count, in;
  };
  // Adds NAME_W{part} and NAME_b{part}.
  void add_linear(const std::string& name, const char* part, const Rows& r) {
    names_.push_back({name + "_W" + part,
                      r.count == D_ ? Form::to_width : Form::from_width,
                      {r.in, r.count},
                      r.matrix + ".weight",
                      r.first,
                      /*transposed=*/true});
    add_vector(name + "_b" + part, Form::bias, r.matrix + ".bias", r.first, r.count);
  }

  struct Source {  // our matrix that contains a projection, and the projection's first row
    std::string name;
    int64_t first;
  };
  void add_attention(const std::string& name, const std::string& ours, const Source& q, const Source& k,
                     const Source& v) {
    add_linear(name, "q", {ours + q.name, q.first, D_, D_});
    add_linear(name, "k", {ours + k.name, k.first, D_, D_});
    add_linear(name, "v", {ours + v.name, v.first, D_, D_});
    add_linear(name, "o", {ours + ".out", 0, D_, D_});
    add_norm(name + "_Wo", ours + ".norm", norm_end_);
  }

  void add_block(bool decoder, const std::string& name, const std::string& ours) {
    add_attention(name + "_self", ours + ".self_attention", {".qkv", 0}, {".qkv", D_}, {".qkv", 2 * D_});
    if (decoder) add_attention(name + "_context", ours + ".cross_attention", {".q", 0}, {".kv", 0}, {".kv", D_});
    const int64_t F = config_.feed_forward;
    add_linear(name + "_ffn", "1", {ours + ".feed_forward.up", 0, F, D_});
    add_linear(name + "_ffn", "2", {ours + ".feed_forward.down", 0, D_, F});
    add_norm(name + "_ffn_ffn", ours + ".feed_forward.norm", norm_end_);
  }

  const ModelConfig& config_;
  int64_t D_;
  std::string norm_end_;
  std::vector<ForeignTensor> names_;
};

}  // namespace

MarianTables marian_tables(Tying tying) {
  if (tying == Tying::all) return {.source = "Wemb", .target = "Wemb"};
  return {};
}

std::vector<ForeignTensor> marian_names(const ModelConfig& config, const MarianTables& tables) {
  return MarianNames(config).build(tables);
}

}  // namespace weft
