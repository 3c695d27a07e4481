// model/config.h: defines the options of a model. docs/model.md gives their formulas.
#pragma once

#include <cstdint>

#include "model/lora_config.h"
#include "tensor/math.h"
#include "tensor/on_resume.h"
#include "tensor/ops.h"

namespace weft {

// post computes norm(x + f(x)) (Vaswani et al. 2017), and pre computes x + f(norm(x)) (Xiong et al. 2020).
enum class NormPosition : uint8_t { post, pre };
constexpr EnumNames<NormPosition, 2> enum_names(NormPosition) {
  return {{{"post", NormPosition::post}, {"pre", NormPosition::pre}}};
}

// output: the target embedding is the output matrix (Press & Wolf 2017). all: so is the source embedding.
enum class Tying : uint8_t { none, output, all };
constexpr EnumNames<Tying, 3> enum_names(Tying) {
  return {{{"none", Tying::none}, {"output", Tying::output}, {"all", Tying::all}}};
}

// The decoder's first input: the embedding of bos or eos, or a vector of zeros (Marian).
enum class StartToken : uint8_t { bos, eos, zero };
constexpr EnumNames<StartToken, 3> enum_names(StartToken) {
  return {{{"bos", StartToken::bos}, {"eos", StartToken::eos}, {"zero", StartToken::zero}}};
}

enum class EmbeddingInit : uint8_t { normal, xavier };
constexpr EnumNames<EmbeddingInit, 2> enum_names(EmbeddingInit) {
  return {{{"normal", EmbeddingInit::normal}, {"xavier", EmbeddingInit::xavier}}};
}

// The first three are layouts of sinusoids (Vaswani et al. 2017). learned: one trained table per side (Gehring et al.
// 2017). rotary, rotary_halves: positions rotate queries and keys of self-attention (Su et al. 2021), in pairs of
// columns that are neighbors or half a head apart.
enum class Positions : uint8_t { interleaved, halves, tensor2tensor, learned, rotary, rotary_halves };
constexpr EnumNames<Positions, 6> enum_names(Positions) {
  return {{{"interleaved", Positions::interleaved},
           {"halves", Positions::halves},
           {"tensor2tensor", Positions::tensor2tensor},
           {"learned", Positions::learned},
           {"rotary", Positions::rotary},
           {"rotary_halves", Positions::rotary_halves}}};
}
inline bool is_rotary(Positions p) { return p == Positions::rotary || p == Positions::rotary_halves; }

// The function between the matrices of a feed-forward layer: an activation, or a gated linear unit, which adds a third
// matrix V and computes act(x W) * (x V) elementwise (Shazeer 2020).
enum class FeedForwardActivation : uint8_t { relu, gelu, gelu_tanh, gelu_sigmoid, silu, glu, geglu, swiglu };
constexpr EnumNames<FeedForwardActivation, 8> enum_names(FeedForwardActivation) {
  return {{{"relu", FeedForwardActivation::relu},
           {"gelu", FeedForwardActivation::gelu},
           {"gelu_tanh", FeedForwardActivation::gelu_tanh},
           {"gelu_sigmoid", FeedForwardActivation::gelu_sigmoid},
           {"silu", FeedForwardActivation::silu},
           {"glu", FeedForwardActivation::glu},
           {"geglu", FeedForwardActivation::geglu},
           {"swiglu", FeedForwardActivation::swiglu}}};
}
constexpr Activation function_of(FeedForwardActivation activation) {
  switch (activation) {
    case FeedForwardActivation::relu:
      return Activation::relu;
    case FeedForwardActivation::gelu:
    case FeedForwardActivation::geglu:
      return Activation::gelu;
    case FeedForwardActivation::gelu_tanh:
      return Activation::gelu_tanh;
    case FeedForwardActivation::gelu_sigmoid:
      return Activation::gelu_sigmoid;
    case FeedForwardActivation::silu:
    case FeedForwardActivation::swiglu:
      return Activation::silu;
    case FeedForwardActivation::glu:
      break;
  }
  return Activation::sigmoid;
}
inline bool is_gated(FeedForwardActivation a) {
  return a == FeedForwardActivation::glu || a == FeedForwardActivation::geglu || a == FeedForwardActivation::swiglu;
}

PositionLayout sinusoid_layout(Positions positions);  // requires a layout of sinusoids

struct ModelConfig {
  int64_t width = 512, heads = 8, kv_heads = 0, feed_forward = 2048, encoder_layers = 6, decoder_layers = 6;
  NormPosition norm = NormPosition::post;
  NormKind norm_kind = NormKind::layer;
  double norm_eps = 0;
  bool final_norm = false, embedding_norm = false;
  FeedForwardActivation activation = FeedForwardActivation::relu;
  bool bias_attention = true, bias_feed_forward = true, bias_output = false;
  Tying tying = Tying::all;
  bool scale_embeddings = true;
  StartToken start_token = StartToken::bos;
  Positions positions = Positions::interleaved;
  int64_t position_offset = 0, max_positions = 0;
  EmbeddingInit embedding_init = EmbeddingInit::normal;
  double dropout = 0.1;
  double dropout_embedding = -1, dropout_residual = -1, dropout_attention = -1, dropout_feed_forward = -1;
  int64_t source_vocabulary = 0, target_vocabulary = 0;
  LoraConfig lora;  // has a section of its own

  template <typename V>
  void fields(V& v) {
    fields_of_layers(v);
    fields_of_embeddings(v);
    v("dropout", dropout, "default of the other four dropout rates", OnResume::retrains);
    v("dropout_embedding", dropout_embedding, "rate for embeddings; -1 = model.dropout", OnResume::retrains);
    v("dropout_residual", dropout_residual, "rate for outputs of sublayers; -1 = model.dropout", OnResume::retrains);
    v("dropout_attention", dropout_attention, "rate for attention weights; -1 = model.dropout", OnResume::retrains);
    v("dropout_feed_forward", dropout_feed_forward, "rate after the feed-forward activation; -1 = model.dropout",
      OnResume::retrains);
    v("source_vocabulary", source_vocabulary, "size of the source vocabulary; 0 = taken from the training data");
    v("target_vocabulary", target_vocabulary, "size of the target vocabulary; 0 = taken from the training data");
  }

  template <typename V>
  void fields_of_layers(V& v) {
    v("width", width, "width of the hidden states (d_model)", OnResume::model);
    v("heads", heads, "number of attention heads; must divide model.width and be a multiple of parallel.tp",
      OnResume::model);
    v("kv_heads", kv_heads, "key-value heads of grouped-query attention; must divide model.heads; 0 = model.heads");
    v("feed_forward", feed_forward, "hidden width of the feed-forward layers (d_ff)", OnResume::model);
    v("encoder_layers", encoder_layers, "number of encoder layers", OnResume::model);
    v("decoder_layers", decoder_layers, "number of decoder layers", OnResume::model);
    v("norm", norm, "place of the norm: post = norm(x + f(x)), as in the paper; pre = x + f(norm(x))", OnResume::model);
    v("norm_kind", norm_kind, kNormKindHelp, OnResume::model);
    v("norm_eps", norm_eps, "value that norms add to the variance; 0 = 1e-5 for layer, 1e-6 for rms", OnResume::model);
    v("final_norm", final_norm, "add a norm after the encoder and one after the decoder; needed with norm = pre");
    v("activation", activation,
      "activation of the feed-forward layers: relu, gelu (exact), gelu_tanh, gelu_sigmoid or silu; or a gated linear "
      "unit, which adds a third matrix: glu (sigmoid), geglu or swiglu",
      OnResume::model);
    v("bias_attention", bias_attention, "add biases to the attention projections");
    v("bias_feed_forward", bias_feed_forward, "add biases to the feed-forward layers");
    v("bias_output", bias_output, "add a bias to the output logits");
  }

  template <typename V>
  void fields_of_embeddings(V& v) {
    v("tying", tying,
      "matrices to share: none; output = target embedding and output matrix; all = the source embedding as well");
    v("scale_embeddings", scale_embeddings, "multiply embeddings by sqrt(width)", OnResume::model);
    v("start_token", start_token,
      "first input of the decoder: the embedding of bos or of eos, or zero = a vector of zeros, as in Marian",
      OnResume::model);
    v("embedding_norm", embedding_norm, "add a norm after the embeddings of each side, as in BART");
    v("positions", positions,
      "position encoding: interleaved = sinusoids as in the paper; halves = sinusoids as in Hugging Face; "
      "tensor2tensor = sinusoids as in Tensor2Tensor; learned = a trained table per side; rotary or rotary_halves = "
      "queries and keys of self-attention are rotated",
      OnResume::model);
    v("position_offset", position_offset, "position of the first token; applies only to sinusoids", OnResume::model);
    v("max_positions", max_positions, "max tokens of a sentence, with eos, for learned positions; 0 = 1024");
    v("embedding_init", embedding_init,
      "normal (std. deviation width^-1/2) or xavier (uniform, scaled by fan-in and fan-out)", OnResume::has_no_effect);
  }

  int64_t head_size() const { return width / heads; }
  int64_t num_kv_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  int32_t start_id() const;  // the decoder's first input id; -1 has the embedding 0
  double epsilon() const { return norm_eps > 0 ? norm_eps : formula_of(norm_kind).eps; }

  // Replaces rates of -1 by `dropout`, and sets the size of learned position tables. Throws an Error that names the
  // options and their values if the model cannot be built on `tp` ranks.
  void resolve(int64_t tp);
};

}  // namespace weft
