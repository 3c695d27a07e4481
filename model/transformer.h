// model/transformer.h: the encoder-decoder graph (Vaswani et al. 2017, section 3): forward, backward and decoding.
//
// Read block.h, layers/embedding.h and loss.h next. Each rank has one Transformer, whose weights are in the given
// ParamStore. A Transformer stores nothing of a batch: the uploaded batch (device_batch.h) and the values that backward
// reads are arguments. Communication over tp happens in layers/partial_sum.h, layers/all_rows.h, loss.cpp, and in
// backward() and cross_attention() below. Communication over dp happens only in the given GradSync.
//
// If ranks split rows (Pass::sequence), activation tensors contain only a rank's own rows, except inside sublayers and
// in the encoder output.
#pragma once

#include <optional>
#include <vector>

#include "model/block.h"
#include "model/consistency.h"
#include "model/device_batch.h"
#include "model/layers/embedding.h"
#include "model/loss.h"
#include "parallel/grad_sync.h"
#include "tensor/error.h"

namespace weft {

class Transformer {
 public:
  // Declares every parameter. REQUIRES: a resolved `config`, and a later call of params.allocate(). Sentences may have
  // up to max_positions() rows, which is num_positions, or config.max_positions for learned positions.
  Transformer(const ModelConfig& config, ParamStore& params, int64_t num_positions);
  Transformer(const Transformer&) = delete;  // blocks hold pointers to positions_
  Transformer& operator=(const Transformer&) = delete;

  const ModelConfig& config() const { return config_; }
  int64_t max_positions() const { return positions_.max_positions(); }
  size_t positions_bytes() const { return positions_.bytes(); }  // bytes of position tables that are not parameters
  DType dtype() const { return output_.dtype(); }                // type of activations: the parameters' `compute`

  // Uploads a block: load_batch() with the model's start token.
  DeviceBatch load(Pass& p, const Block& block) const { return load_batch(p, block, config_.start_id()); }

  struct Saved {  // what the forward pass keeps for the backward pass
    std::vector<EncoderBlock::Saved> encoder;
    std::vector<DecoderBlock::Saved> decoder;
    Norm::Saved encoder_norm, decoder_norm;
    Embedding::Saved source_embedding, target_embedding;
    Tensor encoder_output, decoder_output;  // [S, D]; [T, D], or own rows
  };
  // Returns logits [T, V/tp]. `saved` may be nullptr for inference.
  Tensor forward(Pass& p, const DeviceBatch& batch, Saved* saved) const;
  // Accumulates the gradients of all parameters, and reports completed gradients to `sync`, if given. If ranks split
  // rows, gradients with ParamSpec::sums_rows are partial sums until a pass with `sync` adds the ranks' parts.
  void backward(Pass& p, const DeviceBatch& batch, const Saved& saved, const Tensor& d_logits, GradSync* sync) const;

  // Returns the losses of the batch's target rows, times the rows' weights if the batch has weights, and 0 for unused
  // rows. Accumulates the gradients of p.scalars->loss_scale * (sum of the losses).
  RowLoss loss_and_gradients(Pass& p, const DeviceBatch& batch, const LossOptions& options, GradSync* sync) const;
  // Returns the losses of a single pass without computing gradients. Dropout applies only if p.training.
  RowLoss loss(Pass& p, const DeviceBatch& batch, double smoothing) const;

  // Selects a layer and a head of cross-attention, counted from 0; -1 selects the mean over all layers or heads.
  struct AttentionChoice {
    int64_t layer = -1, head = -1;
  };
  // Fills y [T rows, W], f32. From column 0 on, row t contains the probabilities of target row t over the source rows
  // of its sentence, without dropout. All other elements are 0. y is the same on every rank of the tp group. REQUIRES:
  // W is at least the length of the longest source sentence.
  void cross_attention(Pass& p, const DeviceBatch& batch, const AttentionChoice& choice, const Tensor& y) const;

  // The memory of decoding, for `slots` hypotheses of up to max_length positions and for source_rows rows of encoder
  // output. A dry run only measures the size of this memory.
  struct DecodeState {
    DecodeState(const Context& ctx, const Transformer& model, const TensorParallel& tp, int64_t slots,
                int64_t max_length, int64_t source_rows);
    int64_t slots, max_length;
    size_t bytes;
    Buffer buffer;
    std::vector<DecoderBlock::Cache> blocks;
  };
  // Runs the encoder over rows packed like a block's source (unused rows: id -1) and fills the cross-attention caches.
  void start_decoding(Pass& p, const Sequences& source, DecodeState& state) const;
  // Decodes one position per slot: reads ids [slots] (-1: idle) and writes the logits [slots, V/tp] of the next token.
  // Frees its arena memory on return.
  void decode_step(Pass& p, const Tensor& ids, const DecoderBlock::StepRows& rows, const DecodeState& state,
                   const Tensor& logits) const;
  const OutputProjection& output() const { return output_; }
  // Returns true if every GEMM of inference reads a copy of its weight that is packed for inference, so that a row's
  // bits do not depend on the number of rows.
  bool has_inference_weights() const;

 private:
  struct Tables {  // tables of the two embeddings; one table if all are tied
    const Param *source, *target;
  };
  static Tables declare_tables(ParamStore& params, const ModelConfig& config);
  Tensor encode(Pass& p, const Sequences& source, Saved* saved) const;                                 // [S, D]
  Tensor decode(Pass& p, const DeviceBatch& batch, const Tensor& encoder_output, Saved* saved) const;  // [T, D] or own
  Tensor backward_decoder(Pass& p, const DeviceBatch& batch, const Saved& saved, const Tensor& d_logits,
                          GradSync* sync) const;  // returns the encoder output's gradient: [S, D], or own rows
  void backward_encoder(Pass& p, const DeviceBatch& batch, const Saved& saved, const Tensor& d, GradSync* sync) const;

  ModelConfig config_;
  const ParamStore& params_;
  Tables tables_;
  PositionEncoding positions_;
  Embedding source_embedding_, target_embedding_;
  std::vector<EncoderBlock> encoder_;
  std::optional<Norm> encoder_norm_;
  std::vector<DecoderBlock> decoder_;
  std::optional<Norm> decoder_norm_;
  OutputProjection output_;
};

}  // namespace weft
