// model/block.h: encoder block and decoder block: sublayers with their norms, forward and backward.
//
// backward(d): d holds the gradient of the block's output on entry and of its input on return.
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
    SelfAttention::Saved self;
    FeedForward::Saved feed_forward;
  };
  EncoderBlock(ParamStore& params, const std::string& name, const ModelConfig& config);

  void forward(Pass& p, const Tensor& x, const SequenceRanges& rows, const Tensor& y, Saved* saved) const;
  void backward(Pass& p, const Tensor& d, const SequenceRanges& rows, const Saved& saved) const;
  int64_t first_offset() const { return first_->offset; }  // where its parameters begin in the flat buffers

 private:
  BlockNorms norms() const { return {place_, {&norm1_, &norm2_}}; }
  SelfAttention self_;
  LayerNorm norm1_;
  FeedForward feed_forward_;
  LayerNorm norm2_;
  NormPosition place_;
  const Param* first_;
};

class DecoderBlock {
 public:
  struct Saved {
    Tensor x;  // [T, D] the block's input
    ResidualStream::Saved residual;
    SelfAttention::Saved self;
    CrossAttention::Saved cross;
    FeedForward::Saved feed_forward;
  };
  struct Cache {  // of decoding
    KeyValueCache self, cross;
  };
  struct StepRows {                        // which rows one decoding step reads and writes
    Tensor cache_rows;                     // [slots] i32: where each slot's new key and value go
    SequenceRanges queries;                // slot i's query is row i
    SequenceRanges self_keys, cross_keys;  // its rows in the self cache and of the encoder's output
  };
  DecoderBlock(ParamStore& params, const std::string& name, const ModelConfig& config);

  void forward(Pass& p, const Tensor& x, const Tensor& memory, const SequenceRanges& target,
               const SequenceRanges& source, const Tensor& y, Saved* saved) const;
  void backward(Pass& p, const Tensor& d, const SequenceRanges& target, const SequenceRanges& source,
                const Saved& saved,
                const Tensor& d_memory) const;  // d_memory, f32, accumulates this rank's part
  int64_t first_offset() const { return first_->offset; }
  const CrossAttention& cross_attention() const { return cross_; }

  void fill_cross_cache(Pass& p, const Tensor& memory, const Cache& cache) const;
  void step(Pass& p, const Tensor& x, const Cache& cache, const StepRows& rows, const Tensor& y) const;
  int64_t cache_columns(const TensorParallel& tp) const { return self_.cache_columns(tp); }

 private:
  BlockNorms norms() const { return {place_, {&norm1_, &norm2_, &norm3_}}; }
  SelfAttention self_;
  LayerNorm norm1_;
  CrossAttention cross_;
  LayerNorm norm2_;
  FeedForward feed_forward_;
  LayerNorm norm3_;
  NormPosition place_;
  const Param* first_;
};

}  // namespace weft
