// model/block.h: defines encoder and decoder block (Vaswani et al. 2017, section 3.1): sublayers in a residual stream.
//
// backward(d): d holds the gradient of the block's output on entry, and the gradient of the block's input on return.
#pragma once

#include <string>

#include "model/layers/attention.h"
#include "model/layers/feed_forward.h"
#include "model/layers/residual.h"

namespace weft {

class EncoderBlock {
 public:
  struct Saved {
    Tensor x;  // [S, D] the block's input
    ResidualStream::Saved residual;
    SelfAttention::Saved self_attention;
    FeedForward::Saved feed_forward;
  };
  // REQUIRES: `rotary`, if given, outlives the block.
  EncoderBlock(ParamStore& params, const std::string& name, const ModelConfig& config,
               const RotaryPositions* rotary = nullptr);

  void forward(Pass& p, const Tensor& x, const Sequences& source, const Tensor& y, Saved* saved) const;
  void backward(Pass& p, const Tensor& d, const Sequences& source, const Saved& saved) const;
  int64_t first_offset() const { return first_offset_; }  // where the block starts in the flat buffers
  int64_t end_offset() const { return end_offset_; }

 private:
  Residuals residuals() const { return {norm_position_, {&after_self_attention_, &after_feed_forward_}}; }

  std::string name_;
  int64_t first_offset_;
  SelfAttention self_attention_;
  ResidualConnection after_self_attention_;
  FeedForward feed_forward_;
  ResidualConnection after_feed_forward_;
  int64_t end_offset_;  // end of its matrices
  NormPosition norm_position_;
};

class DecoderBlock {
 public:
  struct Saved {
    Tensor x;  // [T, D] the block's input
    ResidualStream::Saved residual;
    SelfAttention::Saved self_attention;
    CrossAttention::Saved cross_attention;
    FeedForward::Saved feed_forward;
  };
  struct Sides {
    const Sequences &target, &source;
  };
  struct Cache {  // keys and values for decoding
    KeyValueCache self, cross;
  };
  struct StepRows {                        // the rows that one decoding step reads and writes
    Tensor cache_rows;                     // [slots] i32: destination of each slot's new key and value
    Tensor positions;                      // [slots] i32: position of the slot's new row in its sentence
    SequenceRanges queries;                // slot i's query is row i
    SequenceRanges self_keys, cross_keys;  // each slot's rows in the self cache and in the encoder output
  };
  DecoderBlock(ParamStore& params, const std::string& name, const ModelConfig& config,
               const RotaryPositions* rotary = nullptr);

  void forward(Pass& p, const Tensor& x, const Tensor& encoder_output, const Sides& sides, const Tensor& y,
               Saved* saved) const;
  // Adds this rank's part of the encoder output's gradient to d_encoder_output (f32).
  void backward(Pass& p, const Tensor& d, const Sides& sides, const Saved& saved, const Tensor& d_encoder_output) const;
  int64_t first_offset() const { return first_offset_; }
  int64_t end_offset() const { return end_offset_; }
  const CrossAttention& cross_attention() const { return cross_attention_; }

  void fill_cross_cache(Pass& p, const Tensor& encoder_output, const Cache& cache) const;
  void step(Pass& p, const Tensor& x, const Cache& cache, const StepRows& rows, const Tensor& y) const;
  int64_t cache_columns(const TensorParallel& tp) const { return self_attention_.cache_columns(tp); }

 private:
  Residuals residuals() const {
    return {norm_position_, {&after_self_attention_, &after_cross_attention_, &after_feed_forward_}};
  }

  std::string name_;
  int64_t first_offset_;
  SelfAttention self_attention_;
  ResidualConnection after_self_attention_;
  CrossAttention cross_attention_;
  ResidualConnection after_cross_attention_;
  FeedForward feed_forward_;
  ResidualConnection after_feed_forward_;
  int64_t end_offset_;  // end of its matrices
  NormPosition norm_position_;
};

}  // namespace weft
