// trainer/export/marian.cpp: writes Weft's parameters under Marian's names, and Marian's configuration.
//
// Formulas come from src/models/transformer.h of marian-nmt/marian-dev, version 1.12.
#include "trainer/export/marian.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>

#include "data/batch.h"
#include "trainer/export/formats/npz.h"
#include "trainer/export/names/marian_names.h"
#include "trainer/export/weights.h"

namespace weft {
namespace {

struct MarianTensor {
  std::vector<int64_t> shape;
  MakeValues values;
};

Values transposed(const Values& matrix, int64_t rows, int64_t columns) {  // from [rows, columns] to [columns, rows]
  Values result(matrix.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      result[static_cast<size_t>(c * rows + r)] = matrix[static_cast<size_t>(r * columns + c)];
  return result;
}

Values multiplied(Values values, float factor) {
  for (float& value : values) value *= factor;
  return values;
}

// Marian can tie tables only if the decoder starts from zeros and no table is scaled.
bool keeps_tables(const ModelConfig& c) {
  return c.start_token == StartToken::zero && c.scale_embeddings && c.epsilon() == kMarianEps;
}

// The model as Marian has it: with tables of its own if a table changes.
ModelConfig in_marian(ModelConfig c) {
  if (!keeps_tables(c)) c.tying = Tying::none;
  return c;
}

class MarianLayout {
 public:
  explicit MarianLayout(const ExportedModel& model)
      : config_(model.config), weights_(config_, model.params), D_(config_.width), start_(static_cast<size_t>(D_)) {
    if (config_.start_token != StartToken::zero) start_ = weights_.rows(weights_.target_table(), config_.start_id(), 1);
    begin_ = multiplied(start_, scale());
  }

  std::map<std::string, MarianTensor> build() {
    const ModelConfig theirs = in_marian(config_);
    for (const ForeignTensor& t : marian_names(theirs, marian_tables(theirs.tying))) add(t);
    begin_in_biases("decoder_l1_self");
    scale_residual_sums();
    return std::move(tensors_);
  }

 private:
  float scale() const { return config_.scale_embeddings ? std::sqrt(static_cast<float>(D_)) : 1.0f; }

  void add(const std::string& name, std::vector<int64_t> shape, MakeValues values) {
    tensors_[name] = {std::move(shape), std::move(values)};
  }

  void add(const ForeignTensor& t) {
    const int64_t count = t.rows() * t.columns();
    if (t.form == ForeignTensor::source_table) {
      add(t.name, t.shape, [this] { return multiplied(weights_.of(weights_.source_table()), table_factor()); });
    } else if (t.ours == "output.weight") {
      add(t.name, t.shape, [this] { return weights_.of(weights_.output_table()); });
    } else if (t.form == ForeignTensor::target_table) {
      add(t.name, t.shape, [this] { return from_start(weights_.of(weights_.target_table())); });
    } else if (!weights_.has(t.ours)) {
      add(t.name, t.shape, [count] { return Values(static_cast<size_t>(count)); });  // a bias that our model lacks
    } else {
      add(t.name, t.shape, [=, this] {
        const Values values = weights_.part(t.ours, t.first * t.columns(), count);
        return t.transposed ? transposed(values, t.rows(), t.columns()) : values;
      });
    }
  }

  // Marian always multiplies embeddings by sqrt(D), so the tables are divided by sqrt(D) if Weft does not scale them.
  float table_factor() const { return scale() / std::sqrt(static_cast<float>(D_)); }
  Values from_start(Values table) const {
    const float factor = table_factor();
    for (size_t i = 0; i < table.size(); ++i) table[i] = factor * (table[i] - start_[i % start_.size()]);
    return table;
  }

  void begin_in_biases(const std::string& attention) {
    for (const char* part : {"q", "k", "v"}) {
      const MakeValues matrix = tensors_.at(attention + "_W" + part).values,
                       bias = tensors_.at(attention + "_b" + part).values;
      add(attention + "_b" + part, {1, D_}, [=, this] { return plus_product(bias(), matrix()); });
    }
    const MakeValues bias = tensors_.at(attention + "_bo").values;
    add(attention + "_bo", {1, D_}, [=, this] {
      Values sum = bias();
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += begin_[i];
      return sum;
    });
  }
  Values plus_product(Values bias, const Values& matrix) const {  // returns bias + begin_ x matrix [D in, D out]
    for (size_t out = 0; out < bias.size(); ++out) {
      double sum = bias[out];
      for (size_t in = 0; in < begin_.size(); ++in) sum += double{begin_[in]} * matrix[in * bias.size() + out];
      bias[out] = static_cast<float>(sum);
    }
    return bias;
  }

  // Multiplies the outputs of norms and sublayers by a, and divides the matrices that follow by a.
  void scale_residual_sums() {
    const float a = static_cast<float>(std::sqrt(kMarianEps / config_.epsilon()));
    for (auto& [name, tensor] : tensors_) {
      const auto ends_in_one_of = [&name = name](std::initializer_list<const char*> ends) {
        return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return name.ends_with(end); });
      };
      const bool is_first = name.starts_with("encoder_l1_self_") || name.starts_with("decoder_l1_self_");
      float factor = 1;
      if (ends_in_one_of({"_ln_scale", "_ln_bias"}) || (!is_first && ends_in_one_of({"_Wo", "_bo", "_W2", "_b2"})))
        factor = a;
      if (!is_first && ends_in_one_of({"_Wq", "_Wk", "_Wv", "_W1", "_logit_out_Wt"})) factor = 1 / a;
      if (factor != 1) tensor.values = [values = tensor.values, factor] { return multiplied(values(), factor); };
    }
  }

  const ModelConfig& config_;
  Weights weights_;
  int64_t D_;
  Values start_, begin_;  // embedding of the start token, unscaled and scaled
  std::map<std::string, MarianTensor> tensors_;
};

const char* activation_name(FeedForwardActivation activation) {
  switch (activation) {
    case FeedForwardActivation::silu:
      return "swish";
    case FeedForwardActivation::gelu:
      return "gelu";
    default:
      return "relu";
  }
}

// Lists every option that Marian's transformer reads, including options that have Marian's default values.
std::string model_yml(const ModelConfig& c) {
  const std::string yml = fmt::format(
      "type: transformer\n"
      "dim-emb: {}\ndim-vocabs: [{}, {}]\nenc-depth: {}\ndec-depth: {}\ntransformer-heads: {}\n"
      "transformer-dim-ffn: {}\ntransformer-ffn-activation: {}\n"
      "transformer-preprocess: \"\"\ntransformer-postprocess: dan\ntransformer-postprocess-top: \"\"\n"
      "tied-embeddings: {}\ntied-embeddings-all: {}\n",
      c.width, c.source_vocabulary, c.target_vocabulary, c.encoder_layers, c.decoder_layers, c.heads, c.feed_forward,
      activation_name(c.activation), c.tying == Tying::output, c.tying == Tying::all);
  return yml +
         "transformer-postprocess-emb: d\ntransformer-ffn-depth: 2\ntransformer-decoder-dim-ffn: 0\n"
         "transformer-decoder-ffn-depth: 0\ntransformer-decoder-autoreg: self-attention\n"
         "transformer-dim-aan: 2048\ntransformer-aan-depth: 2\ntransformer-aan-activation: swish\n"
         "transformer-aan-nogate: false\ntransformer-depth-scaling: false\ntransformer-no-projection: false\n"
         "transformer-pool: false\ntransformer-tied-layers: []\ntransformer-train-position-embeddings: false\n"
         "transformer-guided-alignment-layer: last\ntied-embeddings-src: false\n"
         "enc-type: bidirectional\nenc-cell: gru\nenc-cell-depth: 1\ndec-cell: gru\n"
         "dec-cell-base-depth: 2\ndec-cell-high-depth: 1\ndim-rnn: 1024\nlayer-normalization: false\n"
         "right-left: false\nskip: false\ninput-types: []\nfactors-combine: sum\nfactors-dim-emb: 0\n"
         "lemma-dim-emb: 0\nlemma-dependency: \"\"\nulr: false\nulr-dim-emb: 0\nulr-trainable-transformation: false\n"
         "version: v1.12.3\n";
}

std::string decoder_yml(const ExportedModel& model) {
  return fmt::format(
      "relative-paths: true\nmodels: [model.npz]\nvocabs: [{}]\nbeam-size: {}\nnormalize: {}\nallow-unk: {}\n",
      model.has_one_tokenizer() ? "vocab.spm, vocab.spm" : "source.spm, target.spm", model.beam, model.length_penalty,
      model.allow_unknown);
}

}  // namespace

// Pre-norm is not supported, because Marian's decoder then normalizes keys and values only at the first step.
void require_marian_model(const ModelConfig& c) {
  const auto refuse = [](const char* option, const std::string& value, const char* fits) {
    refuse_form("Marian", option, value, fits);
  };
  if (c.norm != NormPosition::post) refuse("model.norm", name_of_enum(c.norm), "only post is supported");
  if (c.norm_kind != NormKind::layer) refuse("model.norm_kind", name_of_enum(c.norm_kind), "only layer is supported");
  if (c.final_norm) refuse("model.final_norm", "true", "only false is supported");
  if (c.embedding_norm) refuse("model.embedding_norm", "true", "only false is supported");
  if (c.positions != Positions::tensor2tensor)
    refuse("model.positions", name_of_enum(c.positions), "only tensor2tensor is supported");
  if (c.position_offset != 0) refuse("model.position_offset", std::to_string(c.position_offset), "only 0 is supported");
  if (c.width % 2 != 0) refuse("model.width", std::to_string(c.width), "the width must be even");
  if (c.activation != FeedForwardActivation::relu && c.activation != FeedForwardActivation::silu &&
      c.activation != FeedForwardActivation::gelu)
    refuse("model.activation", name_of_enum(c.activation), "only relu, silu and gelu are supported");
  if (c.num_kv_heads() != c.heads) refuse("model.kv_heads", std::to_string(c.kv_heads), "only 0 is supported");
}

void export_marian(const ExportedModel& model, const OutputFolder& output) {
  require_marian_model(model.config);
  MarianLayout layout(model);
  NpzWriter file(output.file("model.npz"));
  for (const auto& [name, tensor] : layout.build()) file.add(name, tensor.shape, tensor.values());
  const std::string yml = model_yml(in_marian(model.config));
  file.add_bytes("special:model.yml", {yml.c_str(), yml.size() + 1});  // includes the final NUL
  file.finish();
  output.write("decoder.yml", decoder_yml(model));
  if (model.has_one_tokenizer()) {
    output.copy(model.source_file(), "vocab.spm");
    return;
  }
  output.copy(model.source_file(), "source.spm");
  output.copy(model.target_file(), "target.spm");
}

}  // namespace weft
