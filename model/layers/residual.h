// model/layers/residual.h: the residual stream of a block: each sublayer's input, the residual sums and the norms.
//
//   post: x = norm(x + dropout(f(x) + b))  (Vaswani et al. 2017)
//   pre:  x = x + dropout(f(norm(x)) + b)  (Xiong et al. 2020)
//
// Everything here works row by row. If ranks split rows (Pass::sequence), each rank holds its own R/tp rows, and its
// gradients of norms and biases are parts of the sums over all rows.
//
//   ResidualStream stream(p, residuals(), x, y, saved);
//   stream.add(p, attention.forward(p, stream.input(), ..., stream.output(), ...));
//   stream.add(p, feed_forward.forward(p, stream.input(), stream.output(), ...));       // completes y
//
//   ResidualGradient gradient(p, residuals(), d, saved);                                // d: gradient of y, then of x
//   feed_forward.backward(p, gradient.of_output(p), ..., gradient.of_input());
//   attention.backward(p, gradient.of_output(p), ..., gradient.of_input());
//   gradient.finish(p);
//
// Bias, dropout, residual sum and norm are computed in one pass over the rows. With post-norm, the pass includes the
// norm of the same sublayer; with pre-norm, the norm of the next one.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "model/layers/normalization.h"
#include "model/layers/partial_sum.h"

namespace weft {

class ResidualConnection {  // the bias and dropout of a sublayer's output, and the sublayer's norm
 public:
  // Declares <sublayer>.<output>.bias, if `bias`, and <sublayer>.norm.*; `output` names the sublayer's last layer.
  ResidualConnection(ParamStore& params, const std::string& sublayer, const std::string& output, bool bias,
                     const ModelConfig& config);

  const Tensor& bias() const { return bias_ ? bias_->value : kNone; }   // [D]?
  const Tensor& d_bias() const { return bias_ ? bias_->grad : kNone; }  // [D]? accumulated
  Dropout dropout(const Pass& p, int64_t rows) const { return p.row_dropout(rate_, purpose_, rows, width_); }
  const Norm& norm() const { return norm_; }

 private:
  static inline const Tensor kNone;
  const Param* bias_;
  int64_t width_;
  double rate_;
  uint32_t purpose_;
  Norm norm_;
};

struct Residuals {  // the connections of a block's sublayers, in order
  NormPosition norm_position;
  std::vector<const ResidualConnection*> connections;

  size_t size() const { return connections.size(); }
  const Norm* norm_after(size_t sublayers) const;  // the norm of the sum after `sublayers` sublayers, or nullptr
};

class ResidualStream {
 public:
  struct Stage {      // the stream after 0, 1, ... sublayers
    Norm::Saved sum;  // [R, D] the sum so far, and its statistics for the norm that follows
    Tensor normed;    // [R, D] the normed sum; without a norm, the sum itself
  };
  using Saved = std::vector<Stage>;

  // x [R, D] is the block's input, and y [R, D] the output. Without `saved` (inference), add() frees sublayers' memory.
  ResidualStream(Pass& p, Residuals residuals, const Tensor& x, const Tensor& y, Saved* saved);

  const Tensor& input() const { return stages_[done_].normed; }      // input of the next sublayer
  const Tensor& output() const { return stages_[done_ + 1].sum.x; }  // the next sublayer's output, written before add()
  void add(Pass& p, const PartialSum& output);

 private:
  Residuals residuals_;
  std::vector<Stage> stages_;
  size_t done_ = 0;  // finished sublayers
  bool saves_;
  size_t mark_;  // arena mark after the stages
};

class ResidualGradient {
 public:
  // d [R, D] is the gradient of the block's output on entry, and of the block's input after finish().
  ResidualGradient(Pass& p, Residuals residuals, const Tensor& d, const ResidualStream::Saved& saved);

  // Returns the gradient of a sublayer's output. REQUIRES: one call per sublayer, from the last to the first. The
  // sublayer may overwrite the returned tensor with the gradient of its input. If no norm follows the residual sum,
  // accumulates the bias's gradient.
  Tensor of_output(Pass& p);
  // Returns where the sublayer must write the gradient of its input. With post-norm, the sublayer's last matmul adds
  // this gradient to d. With pre-norm, the norm's backward pass reads it first.
  InputGradient of_input() const;
  void finish(Pass& p);  // accumulates the gradients of the norms, and of the biases before them

 private:
  Residuals residuals_;
  Tensor d_, d_input_;
  const ResidualStream::Saved& saved_;
  size_t left_;  // remaining sublayers
  ops::NormSums sums_;
  size_t num_sums_ = 0;
};

}  // namespace weft
