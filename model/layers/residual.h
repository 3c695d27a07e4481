// model/layers/residual.h: the residual stream of one block: what enters each sublayer, what its output is added to,
// and the norms between.
//
//   post: x = norm(x + f(x))  (Vaswani et al. 2017);  pre: x = x + f(norm(x))  (Xiong et al. 2020)
//
//   ResidualStream stream(p, norms, x, y, saved);
//   attention.forward(p, stream, ...);     // reads stream.input(), ends with stream.add(...)
//   feed_forward.forward(p, stream, ...);  // the last one completes y
//
// A sublayer's output is biased, dropped, added and normed in one pass over its rows: by the sublayer's own norm with
// post, by the next one's with pre. The gradient goes the same way back.
#pragma once

#include <vector>

#include "model/config.h"
#include "model/layers/normalization.h"

namespace weft {

struct BlockNorms {
  NormPosition place;
  std::vector<const LayerNorm*> of_sublayer;

  size_t num_sublayers() const { return of_sublayer.size(); }
  const LayerNorm* after(size_t sublayers) const;  // what norms the sum after so many sublayers; null: nothing does
};

class ResidualStream {
 public:
  struct Stage {           // of the stream, after 0, 1, ... sublayers
    LayerNorm::Saved sum;  // [R, D] the sum so far, and its statistics for the norm that follows
    Tensor normed;         // [R, D] its norm; where none follows, the sum itself
  };
  using Saved = std::vector<Stage>;

  // x [R, D] is the block's input, y its output; `saved` may be null.
  ResidualStream(Pass& p, BlockNorms norms, const Tensor& x, const Tensor& y, Saved* saved);

  const Tensor& input() const { return stages_[done_].normed; }  // of the next sublayer
  const Tensor& sum() const {
    return stages_[done_ + 1].sum.x;
  }  // after it; a sublayer may write its output there before add()
  void add(Pass& p, const Tensor& output, const Tensor& bias, const Dropout& dropout);  // bias [D]?

 private:
  BlockNorms norms_;
  std::vector<Stage> stages_;
  size_t done_ = 0;  // sublayers
};

class ResidualGradient {
 public:
  // d: gradient of the block's output on entry, of its input after finish().
  ResidualGradient(Pass& p, BlockNorms norms, const Tensor& d, const ResidualStream::Saved& saved);

  // The gradient of a sublayer's output before bias and dropout, from the last sublayer to the first; it lies in the
  // arena or in d. The bias's own is accumulated.
  Tensor d_output(Pass& p, const Tensor& d_bias, const Dropout& dropout);
  const Tensor& d_input() const { return d_input_; }  // where the sublayer leaves the gradient of its input
  void finish(Pass& p) const;

 private:
  BlockNorms norms_;
  Tensor d_, d_input_;
  const ResidualStream::Saved& saved_;
  size_t left_;  // sublayers
};

}  // namespace weft
