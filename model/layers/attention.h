// model/layers/attention.h: defines multi-head attention (Vaswani et al. 2017, section 3.2), with heads split over tp.
//
// Attention stays within sentences, whose rows SequenceRanges give. N is the number of query heads, M of key-value
// heads, K the size of a head. If M = N, self-attention uses one fused projection [3, N, K, D]. Cross-attention
// projects queries with [N, K, D] and the encoder output with [2, M, K, D]. The output projection is row-parallel:
// forward returns the sublayer's output, all-reduced over tp, and the residual connection adds the projection's bias.
// Decoding caches keys and values instead of recomputing them.
#pragma once

#include <optional>
#include <string>

#include "model/layers/linear.h"
#include "model/layers/positions.h"

namespace weft {

struct AttentionSaved {
  Tensor x;        // [Rq, D]       the sublayer's input, or own rows of it
  Tensor source;   // [Rk, D]       input of keys and values; self-attention: x
  Tensor q;        // [Rq, N*K/tp]
  Tensor k, v;     // [Rk, M*K/tp]
  Tensor context;  // [Rq, N*K/tp]  softmax(q k^T) v
  Tensor lse;      // [N/tp, Rq]
};

// Keys and values of a decoder block: [slots * max_length, M*K/tp] (self-attention) or [source rows, M*K/tp].
struct KeyValueCache {
  Tensor k, v;
};

struct AttentionRows {  // rows of each sentence, on both sides of attention
  const SequenceRanges &queries, &keys;
};

struct AttentionGradients {
  Tensor q, k, v;
};

class AttentionCore {  // computes scores, softmax, dropout and values of this rank's heads
 public:
  AttentionCore(const std::string& name, const ModelConfig& config, bool causal);
  int64_t heads(const TensorParallel& tp) const { return heads_ / tp.size(); }
  int64_t columns(const TensorParallel& tp) const { return heads(tp) * head_size_; }  // columns of queries
  int64_t kv_heads(const TensorParallel& tp) const { return kv_heads_ / tp.size(); }
  int64_t kv_columns(const TensorParallel& tp) const { return kv_heads(tp) * head_size_; }  // columns of k (and v)
  void forward(Pass& p, const AttentionSaved& s, const AttentionRows& rows) const;
  void backward(Pass& p, const AttentionSaved& s, const AttentionRows& rows, const Tensor& d_context,
                const AttentionGradients& d) const;
  // For inference: computes context [Rq, N*K/tp] with keys and values from a cache. Every query sees all keys of its
  // range.
  void attend(Pass& p, const Tensor& q, const KeyValueCache& cache, const AttentionRows& rows,
              const Tensor& context) const;
  // Adds factor * the probabilities of `head`, or of all heads if `head` is -1, to y [Rq, W]. It adds only this rank's
  // heads, so the caller must all-reduce y over tp.
  void add_weights(Pass& p, const AttentionSaved& s, const AttentionRows& rows, int64_t head, double factor,
                   const Tensor& y) const;

 private:
  Dropout dropout(const Pass& p, int64_t queries, int64_t keys) const;
  int64_t heads_, kv_heads_, head_size_;
  bool causal_;
  double rate_;
  uint32_t purpose_;
};

class SelfAttention {
 public:
  using Saved = AttentionSaved;
  // Rotates queries and keys by `rotary`, if given. REQUIRES: `rotary` outlives this object.
  SelfAttention(ParamStore& params, const std::string& name, const ModelConfig& config, bool causal,
                const RotaryPositions* rotary = nullptr);

  PartialSum forward(Pass& p, const Tensor& x, const Sequences& sentences, const Tensor& y, Saved* saved) const;
  void backward(Pass& p, const Tensor& d_y, const Sequences& sentences, const Saved& saved,
                const InputGradient& d_x) const;  // d_x may be d_y
  struct NewRows {                                // one row per hypothesis
    Tensor cache_rows;                            // [slots] i32: cache row of its key and value
    Tensor positions;                             // [slots] i32: position in its sentence
  };
  // Adds one row to each of `slots` hypotheses: writes the row's key and value to the cache, then attends to rows.keys.
  PartialSum step(Pass& p, const Tensor& x, const KeyValueCache& cache, const NewRows& added, const AttentionRows& rows,
                  const Tensor& y) const;
  int64_t cache_columns(const TensorParallel& tp) const { return core_.kv_columns(tp); }

 private:
  struct Projected {  // queries, keys and values, or their gradients: slices of qkv, or q and slices of kv
    Tensor q, k, v;   // [R, N*K/tp], [R, M*K/tp] each
    Tensor qkv, kv;   // [R, 3*N*K/tp], or [R, 2*M*K/tp]
  };
  Projected allocate(Pass& p, const Tensor& x) const;
  Projected project(Pass& p, const Tensor& x, const Tensor& positions) const;
  void rotate(Pass& p, const Projected& y, const Tensor& positions, bool inverse) const;

  std::optional<ColumnParallelLinear> qkv_, q_, kv_;  // only qkv_, or q_ and kv_
  AttentionCore core_;
  const RotaryPositions* rotary_;
  std::optional<RowParallelLinear> out_;  // declared after the projections
};

class CrossAttention {
 public:
  using Saved = AttentionSaved;
  CrossAttention(ParamStore& params, const std::string& name, const ModelConfig& config);

  PartialSum forward(Pass& p, const Tensor& x, const Tensor& encoder_output, const AttentionRows& rows, const Tensor& y,
                     Saved* saved) const;
  // d_x may be d_y. Adds this rank's part to d_encoder_output (f32). The caller must all-reduce that over tp.
  void backward(Pass& p, const Tensor& d_y, const AttentionRows& rows, const Saved& saved, const InputGradient& d_x,
                const Tensor& d_encoder_output) const;
  void fill_cache(Pass& p, const Tensor& encoder_output, const KeyValueCache& cache) const;
  PartialSum step(Pass& p, const Tensor& x, const KeyValueCache& cache, const AttentionRows& rows,
                  const Tensor& y) const;
  int64_t cache_columns(const TensorParallel& tp) const { return core_.kv_columns(tp); }
  void add_weights(Pass& p, const Saved& saved, const AttentionRows& rows, int64_t head, double factor,
                   const Tensor& y) const {
    core_.add_weights(p, saved, rows, head, factor, y);
  }

 private:
  ColumnParallelLinear q_, kv_;
  AttentionCore core_;
  RowParallelLinear out_;
};

}  // namespace weft
