// model/config.h: what a model is. Each option with its formula: docs/model.md.
#pragma once

#include <cstdint>

#include "tensor/math.h"
#include "tensor/ops.h"

namespace weft {

enum class NormPosition : uint8_t {
  post,
  pre
};  // post: norm(x + f(x)), Vaswani et al. 2017; pre: x + f(norm(x)), Xiong et al. 2020
enum class Tying : uint8_t {
  none,
  output,
  all
};  // output: target embedding = output matrix (Press & Wolf 2017); all: source too
enum class EmbeddingInit : uint8_t { normal, xavier };
enum class Positions : uint8_t {
  interleaved,
  halves,
  tensor2tensor,
  learned
};  // three layouts of sinusoids (Vaswani et al. 2017); learned: a trained table a side (Gehring et al. 2017)

PositionLayout sinusoid_layout(Positions positions);  // of any but learned

struct ModelConfig {
  int64_t width = 512, heads = 8, feed_forward = 2048, encoder_layers = 6, decoder_layers = 6;
  NormPosition norm = NormPosition::post;
  bool final_norm = false;
  Activation activation = Activation::relu;
  bool bias_attention = true, bias_feed_forward = true, bias_output = false;
  Tying tying = Tying::all;
  bool scale_embeddings = true;
  Positions positions = Positions::interleaved;
  int64_t position_offset = 0, max_positions = 0;
  EmbeddingInit embedding_init = EmbeddingInit::normal;
  double dropout = 0.1;
  double dropout_embedding = -1, dropout_residual = -1, dropout_attention = -1, dropout_feed_forward = -1;
  int64_t source_vocabulary = 0, target_vocabulary = 0;

  template <typename V>
  void fields(V& v) {
    v("width", width, "width of every hidden row (d_model)");
    v("heads", heads, "attention heads; width must divide by them, and they by parallel.tp");
    v("feed_forward", feed_forward, "hidden width of the feed-forward layers (d_ff)");
    v("encoder_layers", encoder_layers, "encoder blocks");
    v("decoder_layers", decoder_layers, "decoder blocks");
    v("norm", norm, "post: norm(x + f(x)), the paper's; pre: x + f(norm(x))");
    v("final_norm", final_norm, "one more layer norm after the last block of encoder and decoder; pre-norm wants it");
    v("activation", activation, "relu, gelu (exact) or gelu_tanh, in the feed-forward layers");
    v("bias_attention", bias_attention, "biases in attention projections");
    v("bias_feed_forward", bias_feed_forward, "biases in feed-forward layers");
    v("bias_output", bias_output, "bias on the output logits");
    v("tying", tying, "none; output: target embedding = output matrix; all: source embedding too (joint vocabulary)");
    v("scale_embeddings", scale_embeddings, "multiply embeddings by sqrt(width)");
    v("positions", positions,
      "sinusoids: interleaved (the paper's), halves (Hugging Face), tensor2tensor; or learned: a trained table a side");
    v("position_offset", position_offset, "position of the first token; sinusoids only");
    v("max_positions", max_positions,
      "rows of the learned tables: the longest sentence with its eos; 0 = 1024; sinusoids have no limit");
    v("embedding_init", embedding_init, "normal: N(0, width^-1/2); xavier: uniform by fan-in and fan-out");
    v("dropout", dropout, "dropout rate of all four places below unless they say otherwise");
    v("dropout_embedding", dropout_embedding, "on the sum of embedding and position; -1 = model.dropout");
    v("dropout_residual", dropout_residual, "on each sublayer's output before it is added; -1 = model.dropout");
    v("dropout_attention", dropout_attention, "on attention probabilities; -1 = model.dropout");
    v("dropout_feed_forward", dropout_feed_forward, "after the feed-forward activation; -1 = model.dropout");
    v("source_vocabulary", source_vocabulary, "entries of the source vocabulary; 0 = as the training data says");
    v("target_vocabulary", target_vocabulary, "entries of the target vocabulary; 0 = as the training data says");
  }

  int64_t head_size() const { return width / heads; }

  // Fills the -1 rates from `dropout` and the size of learned position tables; refuses what cannot be built on `tp`
  // ranks, naming the numbers and options.
  void resolve(int64_t tp);
};

}  // namespace weft
