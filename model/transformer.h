// model/transformer.h: the whole encoder-decoder graph: forward, then backward, a screen each; and decoding step by
// step.
//
// Reads: block.h, embedding.h, loss.h. One Transformer a rank; its parameters live in the ParamStore given to it.
// Communication: over tp at the marked lines of linear.cpp, attention.cpp, embedding.cpp, loss.cpp and for the encoder
// output's gradient here, once; over dp only through the GradSync that is passed in.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/batch.h"
#include "model/block.h"
#include "model/layers/embedding.h"
#include "model/loss.h"
#include "parallel/grad_sync.h"
#include "tensor/error.h"

namespace weft {

class Transformer {
 public:
  // Declares every parameter; call params.allocate() afterwards. `config` is resolved. Sentences have at most
  // max_positions() rows: num_sinusoids, or config.max_positions where positions are learned.
  Transformer(const ModelConfig& config, ParamStore& params, int64_t num_sinusoids);

  const ModelConfig& config() const { return config_; }
  int64_t max_positions() const { return positions_.max_positions(); }
  size_t positions_bytes() const { return positions_.bytes(); }  // of the table of sinusoids
  DType dtype() const { return output_.dtype(); }                // of activations: the parameters' `compute`

  // Takes a block to the device. The arena is reset, and holds it, and what is computed from it, until the next one.
  void load(Pass& p, const Block& block);

  // The losses of the loaded block's target rows, 0 in unused rows; gradients of grad_scale * (sum of smoothed loss)
  // are added to the store's. `sync`, if given, learns which gradients are complete as the backward pass goes.
  RowLoss loss_and_gradients(Pass& p, double smoothing, double grad_scale, GradSync* sync);
  RowLoss loss_and_gradients(Pass& p, const Block& block, double smoothing, double grad_scale, GradSync* sync) {
    load(p, block);
    return loss_and_gradients(p, smoothing, grad_scale, sync);
  }

  // The same losses without gradients and without dropout.
  RowLoss loss(Pass& p, const Block& block, double smoothing);
  Tensor row_nll(Pass& p, const Block& block) { return loss(p, block, /*smoothing=*/0).nll; }

  // Where a cross-attention's queries look. Which one: layer and head from 0, or -1 for the mean over them.
  struct AttentionChoice {
    int64_t layer = -1, head = -1;
  };
  // Row t: the probabilities that target row t of the block gives to the source rows of its own sentence, from column 0
  // on, without dropout; 0 past them and in unused rows: [T rows, W], W the block's longest source sentence. The same
  // on every rank of the tp group. Of the arena.
  Tensor cross_attention(Pass& p, const Block& block, const AttentionChoice& choice);

  // Decoding. Memory for `slots` hypotheses of up to max_length positions over up to source_rows of encoder output;
  // on a dry run it is counted, not taken.
  struct DecodeState {
    DecodeState(const Context& ctx, const Transformer& model, const TensorParallel& tp, int64_t slots,
                int64_t max_length, int64_t source_rows);
    int64_t slots, max_length;
    size_t bytes;
    Buffer buffer;
    std::vector<DecoderBlock::Cache> blocks;
  };
  // Runs the encoder over rows packed like a block's source (unused rows: id -1) and fills the cross-attention caches.
  void start_decoding(Pass& p, const Tensor& ids, const Tensor& positions, const SequenceRanges& sentences,
                      DecodeState& state) const;
  // One position of every slot: ids [slots] (-1: idle), logits [slots, V/tp] of the next token. Takes arena memory only
  // within.
  void decode_step(Pass& p, const Tensor& ids, const Tensor& positions, const DecoderBlock::StepRows& rows,
                   const DecodeState& state, const Tensor& logits) const;
  const OutputProjection& output() const { return output_; }

 private:
  struct Saved {                           // what one forward pass leaves for the backward pass
    Tensor source, target_in, target_out;  // ids
    Tensor source_positions, target_positions;
    SequenceRanges source_rows, target_rows;
    std::vector<EncoderBlock::Saved> encoder;
    std::vector<DecoderBlock::Saved> decoder;
    LayerNorm::Saved encoder_norm, decoder_norm;
    Tensor memory, output;  // [S, D] encoder's, [T, D] decoder's
  };
  Tensor forward(Pass& p, Saved* saved);         // of the loaded block: logits [T, V/tp]
  Tensor decoder_output(Pass& p, Saved* saved);  // [T, D]
  Tensor encode(Pass& p, const Tensor& ids, const Tensor& positions, const SequenceRanges& rows, Saved* saved) const;
  Tensor decode(Pass& p, const Tensor& ids, const Tensor& positions, const Tensor& memory, const SequenceRanges& target,
                const SequenceRanges& source, Saved* saved) const;
  void backward(Pass& p, const Tensor& d_logits, GradSync* sync);

  ModelConfig config_;
  const Param *source_table_, *target_table_, *output_table_;
  PositionTables positions_;
  Embedding source_embedding_, target_embedding_;
  std::vector<EncoderBlock> encoder_;
  std::optional<LayerNorm> encoder_norm_;
  std::vector<DecoderBlock> decoder_;
  std::optional<LayerNorm> decoder_norm_;
  OutputProjection output_;
  Saved saved_;
};

}  // namespace weft
